"""Texts with `${{ … }}`: parsing, the paths they use, and rendering.

Above: the compiler, which checks paths and compiles values once, and the scheduler, which
renders them for every task. Below: `expression`. Never: I/O, code execution, expanding what a
value contains.

A rendered value may share sub-trees with the compiled value and with the scope: treat both as
immutable.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from attr import field, frozen

from agentctl.engine.condition import Condition, parse_condition
from agentctl.engine.expression import (
    Expression,
    MissingValue,
    Path,
    Scope,
    TemplateError,
    compile_expression,
    dotted,
    json_type,
    parse_expression,
    resolve,
    same_json,
)
from agentctl.jsonvalue import canonical
from agentctl.limits import TEMPLATE_TEXT_BYTES_MAX
from agentctl.value import Value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from agentctl.jsonvalue import JsonObject, JsonValue

__all__ = [
    "Condition",
    "MissingValue",
    "Path",
    "PlacedError",
    "PlacedPath",
    "Renderer",
    "Scope",
    "Template",
    "TemplateError",
    "compile_value",
    "dotted",
    "is_template",
    "parse",
    "parse_condition",
    "placed_references",
    "references",
    "render",
    "resolve",
    "same_json",
]

OPENING: Final = "${{"

# Documents repeat short texts; long ones are rare, and keeping them would hold megabytes.
_CACHE_ENTRIES_MAX: Final = 4096
_CACHE_TEXT_CHARS_MAX: Final = 1024


@frozen(eq=False, repr=False)
class Template(Value):
    """A parsed text: literal texts and expressions in order, no two texts side by side."""

    parts: tuple[str | Expression, ...]

    @property
    def expressions(self) -> tuple[Expression, ...]:
        """The expressions in order of appearance."""
        return tuple(part for part in self.parts if not isinstance(part, str))

    @property
    def exact(self) -> Expression | None:
        """The one expression that is the whole text, if so."""
        only = self.parts[0] if len(self.parts) == 1 else ""
        return None if isinstance(only, str) else only


@frozen(eq=False, repr=False)
class Renderer(Value):
    """A compiled value. `render(scope)` raises MissingValue or TemplateError."""

    render: Callable[[Scope], JsonValue] = field(eq=False)
    is_constant: bool
    paths: tuple[Path, ...] = ()


@frozen(eq=False, repr=False)
class PlacedPath(Value):
    """A path and where in the document it is used, such as `spec.tasks[0].with.text`."""

    place: str
    path: Path


@frozen(eq=False, repr=False)
class PlacedError(Value):
    """A malformed template and where in the document it stands."""

    place: str
    error: TemplateError


_cache: dict[str, Template] = {}


def is_template(text: str) -> bool:
    """Return whether a text holds template syntax at all."""
    return OPENING in text


def parse(text: str) -> Template:
    """Parse a text; without `${{` it is one literal part.

    Raises TemplateError, and nothing else, when any `${{` starts no valid expression.
    """
    if OPENING not in text:
        return Template((text,) if text else ())
    found = _cache.get(text)
    if found is not None:
        return found
    made = Template(tuple(_parts(text)))
    if len(text) <= _CACHE_TEXT_CHARS_MAX:
        if len(_cache) >= _CACHE_ENTRIES_MAX:
            _cache.clear()
        _cache[text] = made
    return made


def references(value: JsonValue) -> tuple[Path, ...]:
    """Return every path used by any string inside a JSON value, each once, in order.

    Keys of objects are not templates. Raises TemplateError for the first malformed string.
    """
    found, errors = placed_references(value)
    if errors:
        raise errors[0].error
    return tuple(dict.fromkeys(one.path for one in found))


def placed_references(
    value: JsonValue, place: str = ""
) -> tuple[list[PlacedPath], list[PlacedError]]:
    """Return every use of a path below `place`, and every malformed string."""
    found: list[PlacedPath] = []
    errors: list[PlacedError] = []
    for where, text in _strings(value, place):
        try:
            template = parse(text)
        except TemplateError as error:
            errors.append(PlacedError(where, error))
        else:
            found += [PlacedPath(where, one.path) for one in template.expressions]
    return found, errors


def render(value: JsonValue, scope: Scope) -> JsonValue:
    """Render a value that is needed once; what is rendered often keeps a `compile_value`."""
    dynamic = _compile(value)
    return value if dynamic is None else dynamic(scope)


def compile_value(value: JsonValue) -> Renderer:
    """Compile a JSON value for rendering; constant sub-trees are returned as they are.

    Raises TemplateError for a malformed string.
    """
    dynamic = _compile(value)
    if dynamic is None:
        return Renderer(lambda _: value, True)
    return Renderer(dynamic, False, references(value))


def _compile(value: JsonValue) -> Callable[[Scope], JsonValue] | None:
    """Return the function that renders a value, or None for a constant."""
    if isinstance(value, str):
        return _compile_text(value) if OPENING in value else None
    if isinstance(value, dict):
        return _compile_object(value)
    if isinstance(value, list):
        return _compile_array(value)
    return None


def _compile_object(value: JsonObject) -> Callable[[Scope], JsonValue] | None:
    compiled = ((key, _compile(item)) for key, item in value.items())
    dynamic = [(key, one) for key, one in compiled if one is not None]
    if not dynamic:
        return None
    if len(dynamic) == len(value):
        return lambda scope: {key: one(scope) for key, one in dynamic}

    def render_object(scope: Scope) -> JsonValue:
        made = value.copy()
        for key, one in dynamic:
            made[key] = one(scope)
        return made

    return render_object


def _compile_array(value: list[JsonValue]) -> Callable[[Scope], JsonValue] | None:
    compiled = enumerate(map(_compile, value))
    dynamic = [(index, one) for index, one in compiled if one is not None]
    if not dynamic:
        return None

    def render_array(scope: Scope) -> JsonValue:
        made = value.copy()
        for index, one in dynamic:
            made[index] = one(scope)
        return made

    return render_array


def _compile_text(text: str) -> Callable[[Scope], JsonValue]:
    template = parse(text)
    if template.exact is not None:
        return compile_expression(template.exact)
    pieces = [_literal(one) if isinstance(one, str) else _piece(one) for one in template.parts]

    def render_text(scope: Scope) -> JsonValue:
        return _bounded("".join([one(scope) for one in pieces]))

    return render_text


def _literal(text: str) -> Callable[[Scope], str]:
    return lambda _: text


def _piece(expression: Expression) -> Callable[[Scope], str]:
    """Return the function that gives an expression's value as text inside a longer text."""
    path = expression.path

    def piece(scope: Scope) -> str:
        value = resolve(path, scope)
        if isinstance(value, str):
            return value
        if isinstance(value, (dict, list)):
            raise TemplateError(
                f"{dotted(path)} is {json_type(value)}; inside text only text, numbers, "
                "booleans and null can stand",
                position=expression.position,
                help="make the template the whole string to keep its type",
            )
        return canonical(value)

    return piece


def _bounded(text: str) -> str:
    # A character takes at most four bytes, so most texts need no encoding to be in bounds.
    if len(text) > TEMPLATE_TEXT_BYTES_MAX // 4:
        size_bytes = len(text.encode("utf-8", "surrogatepass"))
        if size_bytes > TEMPLATE_TEXT_BYTES_MAX:
            raise TemplateError(
                f"a rendered text has {size_bytes} bytes, more than {TEMPLATE_TEXT_BYTES_MAX}"
            )
    return text


def _parts(text: str) -> Iterator[str | Expression]:
    at = 0
    while (start := text.find(OPENING, at)) >= 0:
        if start > at:
            yield text[at:start]
        expression, end = parse_expression(text, start)
        if expression.operator and (start > 0 or end < len(text)):
            raise TemplateError(
                f"a condition must be the whole string, for it gives a boolean "
                f"(character {start + 1})",
                position=start,
            )
        yield expression
        at = end
    if at < len(text):
        yield text[at:]


def _strings(value: JsonValue, place: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield place, value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _strings(item, f"{place}.{key}" if place else key)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _strings(item, f"{place}[{index}]")
