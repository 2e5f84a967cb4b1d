"""JSON values, their one canonical text, and digests over it.

Everything that reaches a digest, a plan, a journal row or an output goes through `canonical`:
sorted keys, no white space, UTF-8, no NaN or infinity. The digest is SHA-256 in lowercase hex.
"""

from __future__ import annotations

import json
from hashlib import sha256
from typing import TypeAlias

JsonScalar: TypeAlias = "str | int | float | bool | None"
JsonValue: TypeAlias = "JsonScalar | list[JsonValue] | dict[str, JsonValue]"
JsonObject: TypeAlias = "dict[str, JsonValue]"

_encode = json.JSONEncoder(
    ensure_ascii=False,
    allow_nan=False,
    sort_keys=True,
    separators=(",", ":"),
    check_circular=False,
).encode


def canonical(value: JsonValue) -> str:
    """Return the canonical text of a JSON value.

    Raises ValueError for NaN and infinities, TypeError for anything that is not JSON.
    """
    return _encode(value)


def parse_json(text: str | bytes) -> JsonValue:
    """Read JSON text, refusing NaN, infinities and duplicate keys.

    Raises ValueError with the reason.
    """
    value: JsonValue = json.loads(
        text,
        parse_float=_finite,
        parse_constant=_refuse_constant,
        object_pairs_hook=_unique_object,
    )
    return value


def load_stored(text: str | bytes) -> JsonValue:
    """Read canonical text that `canonical` wrote; faster than `parse_json`."""
    value: JsonValue = json.loads(text)
    return value


def digest(value: JsonValue) -> str:
    """Return the SHA-256 of the canonical text, 64 lowercase hex digits."""
    return digest_text(_encode(value))


def digest_text(text: str) -> str:
    """Return the SHA-256 of a text's UTF-8 bytes, 64 lowercase hex digits."""
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _finite(text: str) -> float:
    number = float(text)
    if number in (float("inf"), float("-inf")):
        raise ValueError(f"{text[:40]} is out of range")
    return number


def exceeds(value: JsonValue, limit_bytes: int) -> bool:
    """Return whether a value's canonical text is surely longer than a limit.

    Cheaper than writing the text, and it stops as soon as the limit is passed: shared parts of
    a small object can stand for an enormous text.
    """
    left = limit_bytes
    stack = [value]
    while stack:
        one = stack.pop()
        if isinstance(one, str):
            left -= len(one) + 2
        elif isinstance(one, dict):
            left -= 2
            stack.extend(one)
            stack.extend(one.values())
        elif isinstance(one, list):
            left -= 2
            stack.extend(one)
        else:
            left -= 1
        if left < 0:
            return True
    return False


def _refuse_constant(name: str) -> JsonValue:
    raise ValueError(f"{name} is not a JSON number")


def _unique_object(pairs: list[tuple[str, JsonValue]]) -> JsonObject:
    made = dict(pairs)
    if len(made) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise ValueError(f"duplicate key {key!r}")
            seen.add(key)
    return made
