"""JSON Schemas that documents carry: are they valid, and does a value fit.

Above: the compiler, which checks schemas, and everything that validates a value. Below:
jsonschema, imported on first use. Never: fetching a schema; references stay inside the schema
(`#…`).

Drafts 7, 2019-09 and 2020-12 are known by their `$schema`; without it, 2020-12 holds.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, Protocol, cast

from attr import frozen

from agentctl.engine.expression import json_type
from agentctl.jsonvalue import canonical, digest
from agentctl.value import Value

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from jsonschema.exceptions import ValidationError

    from agentctl.jsonvalue import JsonObject, JsonValue

DRAFTS: Final = {
    "http://json-schema.org/draft-07/schema": "Draft7Validator",
    "https://json-schema.org/draft/2019-09/schema": "Draft201909Validator",
    "https://json-schema.org/draft/2020-12/schema": "Draft202012Validator",
}
DEFAULT_DRAFT: Final = "Draft202012Validator"

_REFERENCES: Final = ("$ref", "$dynamicRef", "$recursiveRef")
# Their members are data or lists of names, never schemas.
_DATA: Final = frozenset({"const", "default", "enum", "examples", "required"})
# Their members are named by the user, and every member is a schema.
_NAMED: Final = frozenset(
    {"$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties", "properties"}
)
_CACHE_ENTRIES_MAX: Final = 256
_MESSAGE_CHARS_MAX: Final = 240
_TOO_DEEP: Final = "the schema refers to itself without end, or is nested too deeply"


@frozen(eq=False, repr=False)
class Violation(Value):
    """One thing that does not fit; `path` is written like `inputs.list[2].name`."""

    path: str
    message: str

    def __str__(self) -> str:
        """Return place and text on one line."""
        return f"{self.path}: {self.message}" if self.path else self.message


class _Validator(Protocol):
    def iter_errors(self, instance: object) -> Iterator[ValidationError]: ...


_validators: dict[str, _Validator] = {}


def check_schema(schema: JsonValue, root: str = "") -> list[Violation]:
    """Return what keeps a value from being a usable JSON Schema, with places below `root`."""
    if not isinstance(schema, (dict, bool)):
        return [
            Violation(root, f"a JSON Schema is an object or a boolean, not {json_type(schema)}")
        ]
    draft = _draft(schema)
    if draft is None:
        known = ", ".join(DRAFTS)
        return [Violation(_join(root, "$schema"), f"unknown dialect; known: {known}")]
    try:
        found = _against_meta_schema(schema, draft, root)
        found += _walk(schema, schema, root)
    except RecursionError:
        return [Violation(root, _TOO_DEEP)]
    return found


def validate(value: JsonValue, schema: JsonValue, root: str = "") -> list[str]:
    """Return everything in a value that a schema refuses, as `PATH: text` lines."""
    return [str(one) for one in violations(value, schema, root)]


def violations(value: JsonValue, schema: JsonValue, root: str = "") -> list[Violation]:
    """Return everything in a value that a schema refuses, in order of place.

    The schema must have passed `check_schema`. Messages name types and limits, and quote at
    most a short beginning of a value.
    """
    try:
        found = list(_compiled(schema).iter_errors(value))
    except RecursionError:
        return [Violation(root, _TOO_DEEP)]
    made = (Violation(_place(root, one.absolute_path), _message(one)) for one in found)
    return sorted(made, key=lambda one: (one.path, one.message))


def _compiled(schema: JsonValue) -> _Validator:
    key = digest(schema)
    made = _validators.get(key)
    if made is None:
        if len(_validators) >= _CACHE_ENTRIES_MAX:
            _validators.clear()
        made = _validators[key] = _build(schema, _draft(schema) or DEFAULT_DRAFT)
    return made


def _build(schema: JsonValue, draft: str) -> _Validator:
    import jsonschema
    from referencing import Registry

    # An empty registry: nothing outside the schema can be found, let alone fetched.
    made = getattr(jsonschema, draft)(schema, registry=Registry())
    return cast("_Validator", made)


def _draft(schema: JsonValue) -> str | None:
    named = schema.get("$schema") if isinstance(schema, dict) else None
    if named is None:
        return DEFAULT_DRAFT
    return DRAFTS.get(named.rstrip("#")) if isinstance(named, str) else None


def _against_meta_schema(schema: JsonValue, draft: str, root: str) -> list[Violation]:
    import jsonschema

    checker = getattr(jsonschema, draft)
    meta: _Validator = checker(checker.META_SCHEMA)
    made = [
        Violation(_place(root, e.absolute_path), _message(e)) for e in meta.iter_errors(schema)
    ]
    return sorted(dict.fromkeys(made), key=lambda one: (one.path, one.message))


def _walk(schema: JsonValue, resource: JsonValue, place: str) -> list[Violation]:
    """Check references and patterns of a schema and of the schemas inside it."""
    found: list[Violation] = []
    if isinstance(schema, list):
        for index, item in enumerate(schema):
            found += _walk(item, resource, f"{place}[{index}]")
    if not isinstance(schema, dict):
        return found
    if isinstance(schema.get("$id"), str):
        resource = schema
    found += _own_problems(schema, resource, place)
    for key, item in schema.items():
        below = _join(place, key)
        if key in _NAMED and isinstance(item, dict):
            for name, one in item.items():
                found += _walk(one, resource, _join(below, name))
        elif key not in _DATA:
            found += _walk(item, resource, below)
    return found


def _own_problems(schema: JsonObject, resource: JsonValue, place: str) -> Iterator[Violation]:
    for key in _REFERENCES:
        target = schema.get(key)
        if isinstance(target, str):
            problem = _reference_problem(target, resource)
            if problem:
                yield Violation(_join(place, key), problem)
    named = schema.get("patternProperties")
    places: list[tuple[str, JsonValue]] = [(_join(place, "pattern"), schema.get("pattern"))]
    if isinstance(named, dict):
        places += [(_join(place, "patternProperties"), one) for one in named]
    for where, pattern in places:
        if isinstance(pattern, str) and not _is_pattern(pattern):
            yield Violation(where, f"{pattern[:60]!r} is not a regular expression")


def _is_pattern(text: str) -> bool:
    try:
        re.compile(text)
    except (re.error, OverflowError, RecursionError):
        return False
    return True


def _reference_problem(target: str, resource: JsonValue) -> str | None:
    if not target.startswith("#"):
        return f"{target[:80]!r} points outside the schema; only '#…' references are followed"
    pointer = target[1:]
    if pointer.startswith("/"):
        found = _follow(resource, pointer)
    else:
        found = not pointer or pointer in _anchors(resource)
    return None if found else f"{target[:80]!r} points to nothing"


def _follow(schema: JsonValue, pointer: str) -> bool:
    from urllib.parse import unquote

    for raw in unquote(pointer).split("/")[1:]:
        part = raw.replace("~1", "/").replace("~0", "~")
        if isinstance(schema, dict) and part in schema:
            schema = schema[part]
        elif isinstance(schema, list) and part.isdecimal() and int(part) < len(schema):
            schema = schema[int(part)]
        else:
            return False
    return isinstance(schema, (dict, bool))


def _anchors(schema: JsonValue) -> set[str]:
    found: set[str] = set()
    waiting: list[JsonValue] = [schema]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            names = (one.get("$anchor"), one.get("$dynamicAnchor"))
            found.update(name for name in names if isinstance(name, str))
            waiting.extend(one.values())
        elif isinstance(one, list):
            waiting.extend(one)
    return found


def _message(error: ValidationError) -> str:
    """Return a text about JSON rather than Python, without the value where possible."""
    wanted = cast("JsonValue", error.validator_value)
    found = json_type(error.instance)
    keyword = error.validator
    if keyword == "type":
        names = wanted if isinstance(wanted, list) else [wanted]
        return f"must be {' or '.join(map(str, names))}, not {found}"
    if keyword == "enum" and isinstance(wanted, list):
        return _short(f"must be one of {', '.join(map(canonical, wanted))}")
    if keyword == "const":
        return _short(f"must be {canonical(wanted)}")
    if keyword in ("anyOf", "oneOf"):
        return _alternatives(error)
    if keyword in ("minLength", "maxLength", "minItems", "maxItems", "pattern", "format"):
        return _short(f"does not meet {keyword} {canonical(wanted)}")
    if keyword is None:
        return "no value is allowed here"
    return _short(error.message)


def _alternatives(error: ValidationError) -> str:
    if not error.context:
        return f"fits more than one alternative of {error.validator}"
    texts = list(dict.fromkeys(_message(one) for one in error.context))
    return _short(f"fits no alternative of {error.validator}: {'; or '.join(texts[:4])}")


def _short(text: str) -> str:
    return text if len(text) <= _MESSAGE_CHARS_MAX else text[:_MESSAGE_CHARS_MAX] + "…"


def _join(place: str, name: str) -> str:
    return f"{place}.{name}" if place else name


def _place(root: str, path: Iterable[str | int]) -> str:
    place = root
    for part in path:
        place = f"{place}[{part}]" if isinstance(part, int) else _join(place, part)
    return place
