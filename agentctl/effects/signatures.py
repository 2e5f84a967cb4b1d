"""The JSON Schema of a Python function's parameters, from its annotations.

Above: the embedded door, when a function is registered as an action. Supported are the JSON
types, their unions, literals, lists and dicts with text keys; anything else is refused by name.
"""

from __future__ import annotations

import inspect
import types
import typing
from typing import TYPE_CHECKING, Any, cast

from agentctl.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentctl.jsonvalue import JsonObject, JsonValue

# Given by the engine, never by a workflow.
KEY_PARAMETER = "idempotency_key"

_SIMPLE: dict[object, str] = {
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    type(None): "null",
    None: "null",
}


def input_schema(call: Callable[..., object]) -> JsonObject:
    """Return a closed object schema with one property per parameter.

    Raises UsageError for a parameter that JSON cannot express.
    """
    hints = typing.get_type_hints(call)
    properties: JsonObject = {}
    required: list[JsonValue] = []
    for name, parameter in inspect.signature(call).parameters.items():
        if name == KEY_PARAMETER:
            continue
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise UsageError(f"{_name(call)}: parameter {name!r} cannot be given by name")
        properties[name] = _schema(hints.get(name, Any), f"{_name(call)}({name})")
        if parameter.default is parameter.empty:
            required.append(name)
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


def wants_key(call: Callable[..., object]) -> bool:
    """Return whether the function takes the idempotency key."""
    return KEY_PARAMETER in inspect.signature(call).parameters


def _schema(hint: object, where: str) -> JsonObject:
    if hint is Any or hint is object:
        return {}
    if hint in _SIMPLE:
        return {"type": _SIMPLE[hint]}
    origin = typing.get_origin(hint)
    arguments = typing.get_args(hint)
    if origin is typing.Literal:
        return {"enum": list(cast("tuple[JsonValue, ...]", arguments))}
    if origin in (typing.Union, types.UnionType):
        return {"anyOf": [_schema(one, where) for one in arguments]}
    if hint is list or origin is list:
        return {"type": "array", "items": _schema(arguments[0] if arguments else Any, where)}
    if hint is dict or origin is dict:
        return _object_schema(arguments, where)
    raise UsageError(f"{where}: {hint!r} is not a JSON type")


def _object_schema(arguments: tuple[object, ...], where: str) -> JsonObject:
    if arguments and arguments[0] is not str:
        raise UsageError(f"{where}: a JSON object has text keys, not {arguments[0]!r}")
    values = _schema(arguments[1] if arguments else Any, where)
    return {"type": "object", "additionalProperties": values}


def _name(call: Callable[..., object]) -> str:
    return getattr(call, "__qualname__", repr(call))
