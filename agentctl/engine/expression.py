"""What stands between `${{` and `}}`: a path, or a path with one test.

Above: `template` and `condition`, which find expressions in texts. Below: JSON values. Never:
I/O, code execution, expanding a value. The whole grammar::

    expression = PATH | "not" PATH | PATH ("==" | "!=" | "<" | "<=" | ">" | ">=") LITERAL
    PATH       = ("inputs" | "vars" | "memory" | "effect") "." PART …
               | "tasks" "." ID "." "output" …
    PART       = one or more of A-Z a-z 0-9 _ -
    LITERAL    = any JSON value, or text in single quotes (taken as it stands, no escapes)
"""

from __future__ import annotations

import json
import math
import re
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, cast

from attr import frozen

from agentctl.errors import AgentctlError
from agentctl.suggest import did_you_mean
from agentctl.value import Value

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from agentctl.jsonvalue import JsonObject, JsonValue

Path: TypeAlias = tuple[str, ...]
"""The parts of a path, such as ("tasks", "build", "output", "text")."""

Operator = Literal["", "not", "==", "!=", "<", "<=", ">", ">="]
"""The empty operator is a bare path."""

ROOTS: Final = ("inputs", "vars", "memory", "tasks")
PROBE_ROOT: Final = "effect"
"""What only the `with` of a probe may name; the compiler sees to it."""
LOOP_OUTPUT: Final[Path] = ("vars", "loopPrevious")

_SPACE = "[ \t\r\n]*"
_HEAD = re.compile(
    rf"{_SPACE}(?:(?P<negation>not)[ \t\r\n]+)?"
    r"(?P<path>[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*)"
    rf"{_SPACE}(?P<operator>==|!=|<=|>=|<|>)?{_SPACE}"
)
_CLOSE = re.compile(_SPACE + r"\}\}")
_LOOKS_LIKE_PATH = re.compile(r"(?:inputs|vars|memory|tasks|loop)\.")
_WORD = re.compile(r"[A-Za-z0-9_.-]+")


class TemplateError(AgentctlError):
    """A template is malformed or cannot be rendered; `position` counts characters from 0."""

    code = "invalid_template"
    exit_code = 2

    def __init__(self, message: str, *, position: int = 0, help: str | None = None) -> None:
        self.position = position
        super().__init__(message, help=help)


class MissingValue(TemplateError):
    """A path leads nowhere; `path` is the whole of it, `missing` ends with the absent part."""

    code = "missing_value"

    def __init__(self, path: Path, missing: Path, reason: str, *, help: str | None = None) -> None:
        self.path, self.missing = path, missing
        super().__init__(f"{dotted(path)} is missing: {reason}", help=help)


class Scope:
    """What templates may see. The values belong to the caller and are never changed.

    `tasks` maps a task id to `{"output": value}`.
    """

    __slots__ = ("roots",)

    def __init__(
        self,
        *,
        inputs: Mapping[str, JsonValue] | None = None,
        vars: Mapping[str, JsonValue] | None = None,
        memory: Mapping[str, JsonValue] | None = None,
        tasks: Mapping[str, JsonValue] | None = None,
    ) -> None:
        self.roots: dict[str, Mapping[str, JsonValue]] = {
            "inputs": {} if inputs is None else inputs,
            "vars": {} if vars is None else vars,
            "memory": {} if memory is None else memory,
            "tasks": {} if tasks is None else tasks,
        }

    def lookup(self, path: Path) -> JsonValue:
        """Return the value at a path; raises MissingValue."""
        return resolve(path, self)


@frozen(kw_only=True, eq=False, repr=False)
class Expression(Value):
    """One parsed expression; `position` is where its `${{` stands in the text."""

    path: Path
    operator: Operator = ""
    literal: JsonValue = None
    position: int = 0


def dotted(path: Path) -> str:
    """Return a path as it is written in a document."""
    return ".".join(path)


def resolve(path: Path, scope: Scope) -> JsonValue:
    """Return the value at a path; explicit null is a value.

    Raises MissingValue when a part is absent or the path steps into something not an object.
    """
    # Any: a part is text, so indexing anything but an object raises, and that is the check.
    found: Any = scope.roots
    try:
        for part in path:
            found = found[part]
    except (KeyError, TypeError):
        raise _missing(path, scope) from None
    return cast("JsonValue", found)


def compile_expression(expression: Expression) -> Callable[[Scope], JsonValue]:
    """Return the function that computes an expression: a bare path's value, else a boolean."""
    path, operator, literal = expression.path, expression.operator, expression.literal
    if operator == "":
        return lambda scope: resolve(path, scope)
    if operator == "not":
        return lambda scope: not resolve(path, scope)
    if operator == "==":
        return lambda scope: same_json(resolve(path, scope), literal)
    if operator == "!=":
        return lambda scope: not same_json(resolve(path, scope), literal)
    limit = cast("int | float", literal)
    return lambda scope: _ordered(_number(path, scope), operator, limit)


def same_json(left: JsonValue, right: JsonValue) -> bool:
    """Compare two JSON values with their types: `1` equals `1.0`, never `"1"` or `true`."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, (int, float)):
        return isinstance(right, (int, float)) and left == right
    if isinstance(left, dict):
        return (
            isinstance(right, dict)
            and left.keys() == right.keys()
            and all(same_json(value, right[key]) for key, value in left.items())
        )
    if isinstance(left, list):
        return (
            isinstance(right, list)
            and len(left) == len(right)
            and all(map(same_json, left, right))
        )
    return type(left) is type(right) and left == right


def json_type(value: object) -> str:
    """Return the JSON type of a value with its article, for messages."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, (int, float)):
        return "a number"
    if isinstance(value, str):
        return "a string"
    return "an array" if isinstance(value, list) else "an object"


def parse_expression(text: str, start: int, *, allow_loop: bool = False) -> tuple[Expression, int]:
    """Parse the expression whose `${{` stands at `start`; return it and where it ends.

    Raises TemplateError, and nothing else, for anything outside the grammar.
    """
    head = _HEAD.match(text, start + 3)
    if head is None:
        raise _malformed(text, start, "expected a path such as inputs.name", start + 3)
    path = _check_path(text, start, head, allow_loop=allow_loop)
    operator = cast("Operator", head["operator"] or "")
    literal: JsonValue = None
    end = head.end()
    if head["negation"]:
        if operator:
            raise _malformed(text, start, "`not` takes a path alone", head.start("operator"))
        operator = "not"
    elif operator:
        literal, end = _parse_literal(text, start, end)
        if operator not in ("==", "!=") and json_type(literal) != "a number":
            raise _malformed(text, start, f"`{operator}` compares with a number", head.end())
    close = _CLOSE.match(text, end)
    if close is None:
        raise _malformed(text, start, _leftover(text, end, operator), end)
    made = Expression(path=path, operator=operator, literal=literal, position=start)
    return made, close.end()


def _check_path(text: str, start: int, head: re.Match[str], *, allow_loop: bool) -> Path:
    path = tuple(head["path"].split("."))
    at = head.start("path")
    root = path[0]
    if root == "loop":
        if not allow_loop or path[1:2] != ("output",):
            reason = "loop.output is known only in the condition of a loop"
            raise _malformed(text, start, reason, at)
        return LOOP_OUTPUT + path[2:]
    if root not in ROOTS and root != PROBE_ROOT:
        reason = f"a path starts with inputs, vars, memory or tasks, not {root!r}"
        raise _malformed(text, start, reason, at, help=did_you_mean(root, ROOTS))
    if root == "tasks" and path[2:3] != ("output",):
        raise _malformed(text, start, "a task is named as tasks.ID.output", at)
    if len(path) == 1:
        raise _malformed(text, start, f"a name is missing after {root!r}", at)
    return path


def _parse_literal(text: str, start: int, at: int) -> tuple[JsonValue, int]:
    if text.startswith("'", at):
        end = text.find("'", at + 1)
        if end < 0:
            raise _malformed(text, start, "the closing ' is missing", at)
        return text[at + 1 : end], end + 1
    if _LOOKS_LIKE_PATH.match(text, at):
        raise _malformed(text, start, "a path is compared with a literal, not with a path", at)
    try:
        return _DECODER.raw_decode(text, at)
    except (ValueError, RecursionError):
        word = _WORD.match(text, at)
        help = f"write text in quotes: '{word[0][:40]}'" if word else None
        raise _malformed(text, start, "expected a JSON literal", at, help=help) from None


def _leftover(text: str, at: int, operator: Operator) -> str:
    rest = text[at:].lstrip(" \t\r\n")
    if rest.startswith("}"):
        return "`}}` is missing"
    if not rest or "}}" not in rest:
        return "the closing `}}` is missing"
    if operator in ("", "not"):
        if rest[0] == ".":
            return "a name is missing after '.'"
        if rest[0] in "[(":
            return "paths have dotted names only, no indexing and no functions"
        if rest[0] == "=":
            return "equality is written `==`"
    return f"expected `}}}}`, found {rest[:12]!r}"


def _malformed(
    text: str, start: int, reason: str, at: int, *, help: str | None = None
) -> TemplateError:
    shown = text[start : start + 60] + ("…" if len(text) > start + 60 else "")
    message = f"invalid template {shown!r}: {reason} (character {at + 1})"
    return TemplateError(message, position=at, help=help)


def _missing(path: Path, scope: Scope) -> MissingValue:
    found: object = scope.roots
    for index, part in enumerate(path):
        missing, place = path[: index + 1], dotted(path[:index])
        if not hasattr(found, "keys"):
            reason = f"{place} is {json_type(found)}, which has no {part!r}"
            return MissingValue(path, missing, reason)
        names = cast("Mapping[str, object]", found)
        if part not in names:
            reason = f"{place} has no {part!r}"
            return MissingValue(path, missing, reason, help=did_you_mean(part, names.keys()))
        found = names[part]
    return MissingValue(path, path, "it changed while it was read")


def _number(path: Path, scope: Scope) -> int | float:
    value = resolve(path, scope)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TemplateError(
            f"{dotted(path)} is {json_type(value)}; <, <=, > and >= compare numbers"
        )
    return value


def _ordered(left: float, operator: Operator, right: float) -> bool:
    if operator == "<":
        return left < right
    if operator == "<=":
        return left <= right
    if operator == ">":
        return left > right
    return left >= right


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError("out of range")
    return number


def _refuse_constant(name: str) -> JsonValue:
    raise ValueError(name)


def _unique(pairs: list[tuple[str, JsonValue]]) -> JsonObject:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError("duplicate key")
    return made


_DECODER: Final = json.JSONDecoder(
    parse_float=_finite, parse_constant=_refuse_constant, object_pairs_hook=_unique
)
