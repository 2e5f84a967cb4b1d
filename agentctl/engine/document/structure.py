"""Turn a tree into model objects, collecting every problem with its place.

Above: the reader. Below: cattrs, whose converter finds the hook for each type; the hooks here
know nodes, bounds and unknown fields.
"""

from __future__ import annotations

from functools import cache
from types import UnionType
from typing import TYPE_CHECKING, Any, Literal, TypeVar, Union, cast, get_args, get_origin

from attr import NOTHING, Attribute, fields, frozen, has
from cattrs import BaseConverter

from agentctl.diagnostics import Diagnostic
from agentctl.engine.document.bounds import broken_bound
from agentctl.engine.document.fields import BOUNDS, document_name
from agentctl.engine.document.hints import hint_of
from agentctl.engine.document.rules import broken_rules
from agentctl.suggest import did_you_mean
from agentctl.text.core_schema import (
    EXACT_INTEGER_MAX,
    NULLS,
    YAML_1_1_BOOLEANS,
    NotJson,
    core_value,
)
from agentctl.text.nodes import Mapping, Scalar, Sequence
from agentctl.value import Value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from agentctl.diagnostics import DiagnosticCode
    from agentctl.engine.document.rules import Broken
    from agentctl.jsonvalue import JsonValue
    from agentctl.text.nodes import Node

    Hook = Callable[["Placed", Any], Any]

T = TypeVar("T")

# Looking for the nearest name is slow; only a hostile file has more problems than this.
HELPED_MAX = 1000


@frozen(eq=False, repr=False)
class Placed(Value):
    """A node and its path; `found` gathers the problems of the whole document."""

    node: Node
    path: str
    file: str
    found: list[Diagnostic]

    def inside(self, node: Node, step: str) -> Placed:
        """Return a part of this node."""
        return Placed(node, self._path_to(step), self.file, self.found)

    def _path_to(self, step: str) -> str:
        joint = "" if not self.path or not step or step.startswith("[") else "."
        return f"{self.path}{joint}{step}"

    def refuse(
        self,
        message: str,
        help: str | None = None,
        *,
        at: tuple[int, int] | None = None,
        step: str = "",
        code: DiagnosticCode = "schema_violation",
    ) -> None:
        """Add one problem at this node."""
        line, column = at or (self.node.line, self.node.column)
        self.found.append(
            Diagnostic(
                code=code,
                message=message,
                file=self.file,
                path=self._path_to(step),
                line=line,
                column=column,
                help=help,
            )
        )


class Unreadable(Exception):
    """The node could not become a value; the problem is on the list already."""


def structure(root: Node, cls: type[T], file: str) -> tuple[T | None, list[Diagnostic]]:
    """Return the model object of a tree, or every reason why there is none."""
    found: list[Diagnostic] = []
    try:
        made = converter().structure(Placed(root, "", file, found), cls)
    except Unreadable:
        return None, found
    return (None if found else made), found


@cache
def converter() -> BaseConverter:
    """Return the converter from nodes to the model."""
    made = BaseConverter()
    made.register_structure_hook_factory(has, lambda cls: _object_hook(made, cls))
    for simple, read in (
        (str, _read_text),
        (bool, _read_boolean),
        (int, _read_integer),
        (float, _read_number),
    ):
        made.register_structure_hook(simple, read)
    made.register_structure_hook_func(_is_any, _read_json)
    made.register_structure_hook_func(_is_made_of(Literal), _read_choice)
    factories: tuple[tuple[object, Callable[[BaseConverter, Any], Hook]], ...] = (
        (Union, _optional_hook),
        (UnionType, _optional_hook),
        (list, _list_hook),
        (dict, _dict_hook),
    )
    for origin, factory in factories:
        made.register_structure_hook_factory(
            _is_made_of(origin), lambda hint, factory=factory: factory(made, hint)
        )
    return made


def _is_any(hint: object) -> bool:
    return hint is Any


def _is_made_of(origin: object) -> Callable[[object], bool]:
    return lambda hint: get_origin(hint) is origin


def json_value(placed: Placed) -> JsonValue:
    """Return the JSON value of a node; what has none is reported and becomes null."""
    node = placed.node
    if isinstance(node, Scalar):
        try:
            return _json_scalar(placed, node)
        except Unreadable:
            return None
    if isinstance(node, Sequence):
        return [
            json_value(placed.inside(one, f"[{index}]")) for index, one in enumerate(node.items)
        ]
    return {key: json_value(placed.inside(one, key)) for key, one in node.entries.items()}


def _json_scalar(placed: Placed, node: Scalar) -> JsonValue:
    if not node.plain:
        return node.text
    try:
        return core_value(node.text)
    except NotJson as error:
        placed.refuse(str(error), "write a finite number, or quote it to mean text")
        raise Unreadable from None


def _object_hook(made: BaseConverter, cls: Any) -> Hook:
    """Return the hook that reads one model class."""
    known = {document_name(one): one for one in fields(cls)}
    required = [key for key, one in known.items() if one.default is NOTHING]

    def read(placed: Placed, _: object) -> object:
        node = placed.node
        if not isinstance(node, Mapping):
            placed.refuse(f"expected an object ({_fields_of(known)}), got {_kind(node)}")
            raise Unreadable
        values: dict[str, object] = {}
        unread: set[str] = set()
        for key, entry in node.entries.items():
            attribute = known.get(key)
            if attribute is None:
                help = did_you_mean(key, known) if len(placed.found) < HELPED_MAX else None
                placed.refuse(f"unknown field {_shown(key)}", help, at=node.keys[key], step=key)
            elif not _read_field(made, cls, placed.inside(entry, key), attribute, values):
                unread.add(attribute.name)
        absent = [known[key].name for key in required if known[key].name not in values]
        for key in required:
            if key not in node.entries:
                placed.refuse(f"{key} is missing", step=key)
        # A rule looks at what could be read, so that its problem does not wait for the others;
        # an object with gaps serves for that and goes no further.
        value = cls(**values, **dict.fromkeys(absent))
        _refuse_broken(placed, node, broken_rules(value, unread.union(absent)))
        if absent:
            raise Unreadable
        return value

    return read


def _refuse_broken(placed: Placed, node: Mapping, rules: Iterable[Broken]) -> None:
    """Report broken rules at the field that they name, or at the object."""
    for one in rules:
        at = node.entries.get(one.name)
        place = (at.line, at.column) if at is not None else None
        placed.refuse(one.message, one.help, at=place, step=one.name, code=one.code)


def _read_field(
    made: BaseConverter,
    cls: type,
    placed: Placed,
    attribute: Attribute[Any],
    values: dict[str, object],
) -> bool:
    """Read one field into `values`; return whether it could be read."""
    node = placed.node
    blank = isinstance(node, Scalar) and node.plain and node.text in NULLS
    if blank and attribute.default is not NOTHING:
        # `key:` with nothing behind it means the same as leaving the key out.
        return True
    try:
        value = made.structure(placed, hint_of(cls, attribute.name))
    except Unreadable:
        return False
    broken = broken_bound(value, node, attribute.metadata[BOUNDS])
    if broken is not None:
        code, message = broken
        placed.refuse(f"{document_name(attribute)}: {message}", code=code)
        return False
    values[attribute.name] = value
    return True


def _optional_hook(made: BaseConverter, hint: Any) -> Hook:
    (inner,) = [one for one in get_args(hint) if one is not type(None)]
    return lambda placed, _: made.structure(placed, inner)


def _list_hook(made: BaseConverter, hint: Any) -> Hook:
    (inner,) = get_args(hint)

    def read(placed: Placed, _: object) -> list[object]:
        node = placed.node
        if not isinstance(node, Sequence):
            placed.refuse(f"expected a list, got {_kind(node)}", "write [ … ] or lines with - ")
            raise Unreadable
        values = []
        for index, one in enumerate(node.items):
            try:
                values.append(made.structure(placed.inside(one, f"[{index}]"), inner))
            except Unreadable:
                continue
        return values

    return read


def _dict_hook(made: BaseConverter, hint: Any) -> Hook:
    inner = get_args(hint)[1]

    def read(placed: Placed, _: object) -> dict[str, object]:
        node = placed.node
        if not isinstance(node, Mapping):
            placed.refuse(f"expected an object, got {_kind(node)}")
            raise Unreadable
        values = {}
        for key, one in node.entries.items():
            try:
                values[key] = made.structure(placed.inside(one, key), inner)
            except Unreadable:
                continue
        return values

    return read


def _read_json(placed: Placed, _: object) -> JsonValue:
    if isinstance(placed.node, Scalar):
        return _json_scalar(placed, placed.node)
    return json_value(placed)


def _read_text(placed: Placed, _: object) -> str:
    node = placed.node
    if not isinstance(node, Scalar):
        placed.refuse(f"expected text, got {_kind(node)}")
        raise Unreadable
    if node.plain and node.text in NULLS:
        placed.refuse("expected text, got nothing", "write '' for an empty text")
        raise Unreadable
    return node.text


def _read_boolean(placed: Placed, _: object) -> bool:
    value = _typed(placed, "true or false")
    if isinstance(value, bool):
        return value
    help = None
    if isinstance(value, str) and value.lower() in YAML_1_1_BOOLEANS:
        help = f"YAML 1.2 reads {value} as text; write true or false"
    elif isinstance(value, str) and value.lower() in ("true", "false"):
        help = "write it without quotes"
    placed.refuse(f"expected true or false, got {_shown(value)}", help)
    raise Unreadable


def _read_integer(placed: Placed, _: object) -> int:
    value = _typed(placed, "a whole number")
    if isinstance(value, int) and not isinstance(value, bool):
        if abs(value) <= EXACT_INTEGER_MAX:
            return value
        placed.refuse(f"{_shown(value)} is too large; at most {EXACT_INTEGER_MAX}")
        raise Unreadable
    placed.refuse(f"expected a whole number, got {_shown(value)}", _number_help(value))
    raise Unreadable


def _read_number(placed: Placed, _: object) -> float:
    value = _typed(placed, "a number")
    if isinstance(value, int | float) and not isinstance(value, bool):
        if abs(value) <= EXACT_INTEGER_MAX:
            return value
        placed.refuse(f"{_shown(value)} is too large; at most {EXACT_INTEGER_MAX}")
        raise Unreadable
    placed.refuse(f"expected a number, got {_shown(value)}", _number_help(value))
    raise Unreadable


def _read_choice(placed: Placed, hint: Any) -> str:
    choices = cast("tuple[str, ...]", get_args(hint))
    text = _read_text(placed, str)
    if text in choices:
        return text
    listed = ", ".join(choices)
    placed.refuse(f"{text!r} is not one of {listed}", did_you_mean(text, choices))
    raise Unreadable


def _typed(placed: Placed, wanted: str) -> JsonValue:
    node = placed.node
    if not isinstance(node, Scalar):
        placed.refuse(f"expected {wanted}, got {_kind(node)}")
        raise Unreadable
    return _json_scalar(placed, node)


def _number_help(value: JsonValue) -> str | None:
    if not isinstance(value, str):
        return None
    if value.replace("_", "").isdigit() and "_" in value:
        return f"YAML 1.2 reads {value} as text; write {value.replace('_', '')}"
    if value.replace(":", "").isdigit() and ":" in value:
        return f"YAML 1.2 reads {value} as text; write the number of seconds"
    return "write it without quotes" if value.lstrip("-").isdigit() else None


def _kind(node: Node) -> str:
    if isinstance(node, Mapping):
        return "an object"
    if isinstance(node, Sequence):
        return "a list"
    return _shown(node.text if node.text or not node.plain else None)


def _shown(value: JsonValue) -> str:
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return str(value).lower()
    text = str(value)
    return repr(text if len(text) <= 60 else text[:59] + "…")


def _fields_of(known: dict[str, Attribute[Any]]) -> str:
    names = list(known)
    return ", ".join(names[:4]) + (", …" if len(names) > 4 else "")
