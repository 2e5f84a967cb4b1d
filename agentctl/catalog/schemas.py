"""The few shapes that the schemas of the tools are made of.

Above: the descriptors. Below: nothing. Every function returns a new JSON Schema.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentctl.jsonvalue import JsonObject


def closed(properties: Mapping[str, JsonObject], *, optional: tuple[str, ...] = ()) -> JsonObject:
    """Return an object with these properties and no others; all are required but the optional."""
    assert set(optional) <= properties.keys(), "an optional property is not among the properties"
    return {
        "type": "object",
        "properties": dict(properties),
        "required": [name for name in properties if name not in optional],
        "additionalProperties": False,
    }


def some_text() -> JsonObject:
    """Return a text that is not empty."""
    return {"type": "string", "minLength": 1}


def text() -> JsonObject:
    """Return any text."""
    return {"type": "string"}


def text_or_null() -> JsonObject:
    """Return a text that is not empty, or null."""
    return {"oneOf": [some_text(), {"type": "null"}]}


def integer(minimum: int) -> JsonObject:
    """Return a whole number that is not below a minimum."""
    return {"type": "integer", "minimum": minimum}


def one_of(*names: str) -> JsonObject:
    """Return a text that is one of these names."""
    return {"type": "string", "enum": [*names]}


def list_of(item: JsonObject) -> JsonObject:
    """Return a list of items of one shape."""
    return {"type": "array", "items": item}


def texts_by_name() -> JsonObject:
    """Return an object whose members have any names and are texts."""
    return {"type": "object", "additionalProperties": text()}


def anything() -> JsonObject:
    """Return the schema that any JSON value fits."""
    return {}
