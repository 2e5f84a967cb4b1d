"""The JSON Schema of workflow documents, made from the model.

Above: `agentctl schema`, editors, checks of others. Below: the model and the tables of its rules.
Types, bounds, defaults and meanings are read from the declarations; nothing is said twice.

What it describes is a document as a plain YAML 1.2 or JSON reader loads it. The engine takes the
text as written where it wants text, and such a reader turns `version: 1.0` into a number; so a
text field allows numbers and booleans too. A field with a default may be left blank, which such
a reader turns into null.
"""

from __future__ import annotations

import re
from types import UnionType
from typing import TYPE_CHECKING, Any, Final, Literal, Union, cast, get_args, get_origin

from attr import NOTHING, fields, has

from agentctl.engine.document.fields import BOUNDS, MEANING, default_of, document_name
from agentctl.engine.document.hints import resolve
from agentctl.engine.document.model import Action, Workflow
from agentctl.engine.document.normal import to_json
from agentctl.engine.document.rules import (
    ACTION_FIELDS,
    AT_MOST_ONE,
    EXACTLY_ONE,
    PROCESS_KINDS,
    shown_name,
)
from agentctl.text.core_schema import EXACT_INTEGER_MAX

if TYPE_CHECKING:
    from attr import Attribute

    from agentctl.jsonvalue import JsonObject, JsonValue

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"


def document_schema() -> JsonObject:
    """Return the JSON Schema of a workflow document."""
    found: dict[str, JsonValue] = {}
    root = _reference(Workflow, found)
    return {
        "$schema": DIALECT,
        "title": "agentctl workflow",
        **root,
        "$defs": {name: found[name] for name in sorted(found)},
    }


def _reference(cls: type, found: dict[str, JsonValue]) -> JsonObject:
    """Return a reference to a class's definition, adding it and what it needs to `found`."""
    if cls.__name__ not in found:
        found[cls.__name__] = {}
        found[cls.__name__] = _object(cls, found)
    return {"$ref": f"#/$defs/{cls.__name__}"}


def _object(cls: Any, found: dict[str, JsonValue]) -> JsonObject:
    resolve(cls)
    declared = fields(cls)
    made: JsonObject = {
        "type": "object",
        "description": cls.__doc__,
        "additionalProperties": False,
        "properties": {document_name(one): _field(one, found) for one in declared},
    }
    required: list[JsonValue] = [document_name(one) for one in declared if one.default is NOTHING]
    if required:
        made["required"] = required
    rules = _rules(cls)
    if rules:
        made["allOf"] = rules
    return made


def _field(one: Attribute[Any], found: dict[str, JsonValue]) -> JsonObject:
    default = default_of(one)
    made: JsonObject = {"description": one.metadata[MEANING]}
    schema = _hint(one.type, found)
    _add_bounds(schema, one.metadata[BOUNDS])
    if default is NOTHING:
        return made | schema
    if default is not None and not has(type(default)):
        made["default"] = to_json(default)
    return made | _or_null(schema)


def _or_null(schema: JsonObject) -> JsonObject:
    """Return a schema that also allows null."""
    if "enum" in schema:
        return schema | {"enum": [*cast("list[JsonValue]", schema["enum"]), None]}
    kind = schema.get("type")
    if kind is None:
        return {"anyOf": [schema, {"type": "null"}]} if "$ref" in schema else schema
    return schema | {"type": [*(kind if isinstance(kind, list) else [kind]), "null"]}


def _hint(hint: Any, found: dict[str, JsonValue]) -> JsonObject:
    """Return the schema of a type."""
    simple = _SIMPLE.get(hint)
    if simple is not None:
        return dict(simple)
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return _hint(next(one for one in inner if one is not type(None)), found)
    if origin is Literal:
        return {"enum": list(inner)}
    if origin is list:
        return {"type": "array", "items": _hint(inner[0], found)}
    if origin is dict:
        return {"type": "object", "additionalProperties": _hint(inner[1], found)}
    assert has(hint)
    return _reference(hint, found)


_SIMPLE: Final[dict[object, JsonObject]] = {
    Any: {},
    str: {"type": ["string", "number", "boolean"]},
    bool: {"type": "boolean"},
    int: {"type": "integer", "maximum": EXACT_INTEGER_MAX, "minimum": -EXACT_INTEGER_MAX},
    float: {"type": "number", "maximum": EXACT_INTEGER_MAX, "minimum": -EXACT_INTEGER_MAX},
}


def _add_bounds(schema: JsonObject, bounds: dict[str, JsonValue]) -> None:
    schema |= bounds
    if "exclusiveMinimum" in bounds:
        del schema["minimum"]
    pattern = bounds.get("pattern")
    if isinstance(pattern, str):
        # Numbers and booleans stay only where their text can be what the pattern asks for.
        kinds: list[JsonValue] = ["string"]
        kinds += ["integer"] if re.fullmatch(pattern, "0") else []
        kinds += ["boolean"] if re.fullmatch(pattern, "true") else []
        schema["type"] = kinds
        if "integer" in kinds:
            schema["minimum"] = 0


def _rules(cls: type) -> list[JsonValue]:
    made: list[JsonValue] = []
    name = cls.__name__
    if name in EXACTLY_ONE:
        made.append({"oneOf": [_given(cls, one) for one in EXACTLY_ONE[name]]})
    if name in AT_MOST_ONE:
        names = AT_MOST_ONE[name]
        made += [
            {"not": {"allOf": [_given(cls, first), _given(cls, second)]}}
            for index, first in enumerate(names)
            for second in names[index + 1 :]
        ]
    if cls is Action:
        made += _action_rules()
    if name == "Agent":
        made.append(_agent_rule(cls))
    return made


def _agent_rule(cls: type) -> JsonObject:
    """Return that only an agent file has a format, and can stand in for a model's name."""
    alone: JsonObject = {"properties": {"format": {"type": "null"}}}
    return {"if": _given(cls, "file"), "else": {"allOf": [_given(cls, "model"), alone]}}


def _action_rules() -> list[JsonValue]:
    """Return which fields belong to which kinds of action."""
    made: list[JsonValue] = []
    for kinds, names in ACTION_FIELDS.items():
        absent: JsonObject = {shown_name(Action, name): _absent(name) for name in names}
        made.append({"if": _kind_in(kinds), "else": {"properties": absent}})
    contained: JsonObject = {"properties": {"isolation": {"const": "container"}}}
    process: JsonObject = {
        "if": {**contained, "required": ["isolation"]},
        "then": _given(Action, "container"),
        "else": {"properties": {"container": {"type": "null"}}},
    }
    command: JsonObject = {
        "required": ["command"],
        "properties": {"command": {"not": {"enum": [None, ""]}}},
    }
    made.append({"if": _kind_in(PROCESS_KINDS), "then": {"allOf": [command, process]}})
    return made


def _kind_in(kinds: tuple[str, ...]) -> JsonObject:
    return {"properties": {"kind": {"enum": list(kinds)}}, "required": ["kind"]}


def _given(cls: type, name: str) -> JsonObject:
    shown = shown_name(cls, name)
    return {"required": [shown], "properties": {shown: {"not": {"type": "null"}}}}


def _absent(name: str) -> JsonObject:
    """Return the schema of a field of an action that says no more than its default."""
    default = next(default_of(one) for one in fields(Action) if one.name == name)
    return {"enum": [None] if default is None else [to_json(default), None]}
