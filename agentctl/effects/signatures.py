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
from agentctl.jsonvalue import canonical

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

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

_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
}


def input_schema(call: Callable[..., object], secrets: Collection[str] = ()) -> JsonObject:
    """Return a closed object schema with one property per parameter that a workflow gives.

    `secrets` are the parameters that are given a secret. Raises UsageError for a parameter that JSON
    cannot express, and for a secret without its parameter.
    """
    hints = typing.get_type_hints(call)
    properties: JsonObject = {}
    required: list[JsonValue] = []
    parameters = inspect.signature(call).parameters
    for name in secrets:
        if name not in parameters:
            raise UsageError(f"{_name(call)}: no parameter takes the secret {name!r}")
    for name, parameter in parameters.items():
        if name == KEY_PARAMETER or name in secrets:
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


def checker(schema: JsonObject) -> Callable[[JsonObject], list[str]]:
    """Return a function that names what is wrong with arguments, by a generated schema.

    It saves the cost of loading a schema validator.
    """
    known = {name: _check(cast("JsonObject", one)) for name, one in _properties(schema).items()}
    required = cast("list[str]", schema["required"])

    def check(given: JsonObject) -> list[str]:
        problems = [f"{name} is missing" for name in required if name not in given]
        for name, value in given.items():
            fits = known.get(name)
            if fits is None:
                problems.append(f"there is no parameter {name}")
            elif not fits(value):
                expected = canonical(_properties(schema)[name])
                problems.append(f"{name} is {canonical(value)[:60]}, expected {expected}")
        return problems

    return check


def wants_key(call: Callable[..., object]) -> bool:
    """Return whether the function takes the idempotency key."""
    return KEY_PARAMETER in inspect.signature(call).parameters


def _properties(schema: JsonObject) -> JsonObject:
    return cast("JsonObject", schema["properties"])


def _check(schema: JsonObject) -> Callable[[JsonValue], bool]:
    """Return the test of one generated schema."""
    if "enum" in schema:
        allowed = cast("list[JsonValue]", schema["enum"])
        return lambda value: any(type(value) is type(one) and value == one for one in allowed)
    if "anyOf" in schema:
        tests = [_check(one) for one in cast("list[JsonObject]", schema["anyOf"])]
        return lambda value: any(test(value) for test in tests)
    kind = schema.get("type")
    if kind == "array":
        inner = _check(cast("JsonObject", schema["items"]))
        return lambda value: isinstance(value, list) and all(map(inner, value))
    if kind == "object":
        entry = _check(cast("JsonObject", schema["additionalProperties"]))
        return lambda value: isinstance(value, dict) and all(map(entry, value.values()))
    if kind is None:
        return lambda _: True
    types_of_kind = _TYPES[cast("str", kind)]
    return lambda value: (
        isinstance(value, types_of_kind) and (kind == "boolean" or not isinstance(value, bool))
    )


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
