"""Reads JSON that somebody else wrote, part by part, with an error that names the place.

Above: the contract and the adapters. Nothing here trusts a type: what is missing or of another
type is an EffectError, and what nobody asked for is passed over.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentctl.errors import EffectError
from agentctl.jsonvalue import canonical, parse_json
from agentctl.limits import PROVIDER_JSON_DEPTH_MAX

if TYPE_CHECKING:
    from agentctl.jsonvalue import JsonObject, JsonValue

_SHOWN_CHARACTERS = 60


def invalid(problem: str) -> EffectError:
    """Return the error for an answer that breaks its protocol: definite, and not worth a retry."""
    return EffectError(f"the provider's answer: {problem}", code="invalid_provider_answer")


def parse(data: bytes | str, what: str = "body") -> JsonValue:
    """Read JSON of bounded depth. Raises EffectError."""
    try:
        text = data if isinstance(data, str) else data.decode("utf-8")
        value = parse_json(text)
    except RecursionError:
        raise _too_deep(what) from None
    except ValueError as error:
        raise invalid(f"{what} is not JSON: {error}") from None
    _require_shallow(value, what)
    if "\\u" in text:
        _require_unicode(value, what)
    return value


def parse_object(data: bytes | str, what: str = "body") -> JsonObject:
    """Read a JSON object. Raises EffectError."""
    return as_object(parse(data, what), what)


def as_object(value: JsonValue, what: str) -> JsonObject:
    """Return an object as it is. Raises EffectError."""
    if isinstance(value, dict):
        return value
    raise _wrong(what, "an object", value)


def object_at(body: JsonObject, name: str) -> JsonObject:
    """Return an object, or an empty one where the field is absent or null. Raises EffectError."""
    value = body.get(name)
    return {} if value is None else as_object(value, name)


def objects_at(body: JsonObject, name: str) -> list[JsonObject]:
    """Return a list of objects, or an empty one where it is absent or null. Raises EffectError."""
    value = body.get(name)
    if value is None:
        return []
    if not isinstance(value, list):
        raise _wrong(name, "a list", value)
    return [as_object(one, f"{name}[{index}]") for index, one in enumerate(value)]


def text_at(body: JsonObject, name: str) -> str:
    """Return a text that has to be there. Raises EffectError."""
    value = body.get(name)
    if isinstance(value, str):
        return value
    raise _wrong(name, "text", value)


def optional_text(body: JsonObject, name: str) -> str:
    """Return a text, or an empty one where it is absent or null. Raises EffectError."""
    return "" if body.get(name) is None else text_at(body, name)


def count_at(body: JsonObject, name: str) -> int:
    """Return a count, or 0 where it is absent or null. Raises EffectError."""
    value = body.get(name)
    if value is None:
        return 0
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise _wrong(name, "a count", value)
    return value


def _wrong(what: str, expected: str, value: JsonValue) -> EffectError:
    if value is None:
        return invalid(f"{what} is missing; expected {expected}")
    return invalid(f"{what} is {canonical(value)[:_SHOWN_CHARACTERS]}; expected {expected}")


def _require_shallow(value: JsonValue, what: str) -> None:
    """Refuse a tree that would be too deep for everything that walks it later."""
    level: list[JsonValue] = [value]
    for _ in range(PROVIDER_JSON_DEPTH_MAX):
        inner: list[JsonValue] = []
        for one in level:
            if isinstance(one, dict):
                inner.extend(one.values())
            elif isinstance(one, list):
                inner.extend(one)
        if not inner:
            return
        level = inner
    raise _too_deep(what)


def _require_unicode(value: JsonValue, what: str) -> None:
    """Refuse half of a surrogate pair, which no database and no terminal takes."""
    try:
        canonical(value).encode("utf-8")
    except UnicodeEncodeError:
        raise invalid(f"{what} holds half of a surrogate pair") from None


def _too_deep(what: str) -> EffectError:
    return invalid(f"{what} is nested more than {PROVIDER_JSON_DEPTH_MAX} levels deep")
