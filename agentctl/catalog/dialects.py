"""A tool's input schema in the words of providers that take less than JSON Schema.

Above: the bindings. Below: JSON values. Two such subsets are known: strict function tools, and
the OpenAPI subset of function declarations. Both are derived from the schema by rule, so a new
tool needs nothing here.

Where a subset has no words for a value (any JSON, an object with free names), the value is asked
for as JSON text, and `read` turns it back. Bounds that a subset cannot say are left out: every
input is held against the tool's own schema afterwards.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from agentctl.jsonvalue import parse_json

if TYPE_CHECKING:
    from agentctl.jsonvalue import JsonObject, JsonValue

# Bounds that strict function tools enforce, beside the structure itself.
STRICT_BOUNDS: Final = (
    "enum",
    "pattern",
    "format",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minItems",
    "maxItems",
)
# Bounds that function declarations in the OpenAPI subset may carry.
DECLARED_BOUNDS: Final = (
    "enum",
    "pattern",
    "format",
    "minimum",
    "maximum",
    "minItems",
    "maxItems",
    "minLength",
    "maxLength",
)
_AS_TEXT: Final = "Any JSON value, written as JSON text."
_OBJECT_AS_TEXT: Final = "A JSON object, written as JSON text."
_NULL: Final[JsonObject] = {"type": "null"}


def strict(schema: JsonObject) -> JsonObject:
    """Return a schema as strict function tools take it.

    Every property is required, an optional one may be null instead, and objects are closed.
    """
    if _is_text_instead(schema):
        return {"type": "string", "description": _told(schema)}
    if "oneOf" in schema:
        return {"anyOf": [strict(one) for one in _alternatives(schema)]}
    made = _bounded(schema, STRICT_BOUNDS)
    if schema["type"] == "array":
        made["items"] = strict(_object(schema["items"]))
    if schema["type"] == "object":
        needed = _required(schema)
        made["properties"] = {
            name: strict(one) if name in needed else _nullable(strict(one))
            for name, one in _properties(schema).items()
        }
        made["required"] = [*_properties(schema)]
        made["additionalProperties"] = False
    return made


def declared(schema: JsonObject) -> JsonObject:
    """Return a schema in the OpenAPI subset: types in capitals, and `nullable` for null."""
    if _is_text_instead(schema):
        return {"type": "STRING", "description": _told(schema)}
    if "oneOf" in schema:
        return _declared_alternatives(_alternatives(schema))
    made = _bounded(schema, DECLARED_BOUNDS)
    made["type"] = str(schema["type"]).upper()
    if schema["type"] == "array":
        made["items"] = declared(_object(schema["items"]))
    if schema["type"] == "object":
        made["properties"] = {name: declared(one) for name, one in _properties(schema).items()}
        made["required"] = [*_required(schema)]
    return made


def read(value: JsonValue, schema: JsonObject) -> JsonValue:
    """Return what a model wrote in one of the subsets, as the tool's own schema has it.

    A null for an optional property leaves it out, and JSON text becomes what it says. Nothing
    else is changed or refused. Raises ValueError with every JSON text that is none.
    """
    problems: list[str] = []
    made = _read(value, schema, "", problems)
    if problems:
        raise ValueError("; ".join(problems))
    return made


def _read(value: JsonValue, schema: JsonObject, place: str, problems: list[str]) -> JsonValue:
    if _is_text_instead(schema):
        return _parsed(value, place, problems)
    if isinstance(value, list) and schema.get("type") == "array":
        item = _object(schema["items"])
        return [_read(one, item, f"{place}[{n}]", problems) for n, one in enumerate(value)]
    if not isinstance(value, dict) or schema.get("type") != "object":
        return value
    known, needed = _properties(schema), _required(schema)
    return {
        name: _read(one, known[name], _below(place, name), problems) if name in known else one
        for name, one in value.items()
        if one is not None or name in needed or name not in known
    }


def _parsed(value: JsonValue, place: str, problems: list[str]) -> JsonValue:
    if not isinstance(value, str):
        problems.append(f"{place}: must be JSON text")
        return None
    try:
        return parse_json(value)
    except (ValueError, RecursionError) as error:
        problems.append(f"{place}: is not JSON text: {error}")
        return None


def _is_text_instead(schema: JsonObject) -> bool:
    """Return whether a value has no shape that the subsets could say."""
    is_open = schema.get("type") == "object" and schema.get("additionalProperties") is not False
    return is_open or not {"type", "oneOf"} & schema.keys()


def _told(schema: JsonObject) -> str:
    return _OBJECT_AS_TEXT if schema.get("type") == "object" else _AS_TEXT


def _bounded(schema: JsonObject, bounds: tuple[str, ...]) -> JsonObject:
    kept = {name: value for name, value in schema.items() if name in bounds}
    return {"type": schema["type"], **kept}


def _nullable(schema: JsonObject) -> JsonObject:
    """Return a strict schema that null fits too; one that has null already stays."""
    alternatives = schema.get("anyOf")
    if not isinstance(alternatives, list):
        return {"anyOf": [schema, dict(_NULL)]}
    return schema if _NULL in alternatives else {"anyOf": [*alternatives, dict(_NULL)]}


def _declared_alternatives(alternatives: list[JsonObject]) -> JsonObject:
    others = [declared(one) for one in alternatives if one != _NULL]
    made: JsonObject = others[0] if len(others) == 1 else {"anyOf": [*others]}
    return {**made, "nullable": True} if _NULL in alternatives else made


def _alternatives(schema: JsonObject) -> list[JsonObject]:
    return cast("list[JsonObject]", schema["oneOf"])


def _properties(schema: JsonObject) -> dict[str, JsonObject]:
    return cast("dict[str, JsonObject]", schema["properties"])


def _required(schema: JsonObject) -> list[str]:
    return cast("list[str]", schema["required"])


def _object(schema: JsonValue) -> JsonObject:
    return cast("JsonObject", schema)


def _below(place: str, name: str) -> str:
    return f"{place}.{name}" if place else name
