"""What a plain scalar means where any JSON value is wanted: the YAML 1.2 core schema.

Above: the reader. `yes`, `on`, `12:30` and dates are text; `0o17` and `0xff` are numbers; round
numbers are integers. Source: YAML 1.2.2, section 10.3.2.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agentctl.jsonvalue import JsonScalar

_INTEGER = re.compile(r"[-+]?[0-9]+")
_OCTAL = re.compile(r"0o[0-7]+")
_HEX = re.compile(r"0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_NOT_FINITE = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
NULLS = frozenset({"", "~", "null", "Null", "NULL"})
_BOOLEANS = {
    "true": True,
    "True": True,
    "TRUE": True,
    "false": False,
    "False": False,
    "FALSE": False,
}
# What YAML 1.1 made of these is the best-known surprise of the language.
YAML_1_1_BOOLEANS = frozenset({"yes", "no", "on", "off", "y", "n"})
# Integers up to here are exact in every JSON reader (RFC 8259, section 6).
EXACT_INTEGER_MAX = 2**53
# Longer ones are no measure of anything, and reading digits takes quadratic time.
DIGITS_MAX = 400


class NotJson(ValueError):
    """The scalar has no JSON value."""


def core_value(text: str) -> JsonScalar:
    """Return the value of a plain scalar. Raises NotJson for infinities, NaN and huge numbers."""
    if text in NULLS:
        return None
    if text in _BOOLEANS:
        return _BOOLEANS[text]
    first = text[0]
    if first not in "+-.0123456789":
        return text
    if _INTEGER.fullmatch(text):
        return int(_bounded(text))
    if _OCTAL.fullmatch(text):
        return int(_bounded(text), 0)
    if _HEX.fullmatch(text):
        return int(_bounded(text), 0)
    if _FLOAT.fullmatch(text):
        return _number(_bounded(text))
    if _NOT_FINITE.fullmatch(text):
        raise NotJson(f"{text} is not a JSON number")
    return text


def _bounded(text: str) -> str:
    if len(text) > DIGITS_MAX:
        raise NotJson(f"a number of {len(text)} characters is too long; at most {DIGITS_MAX}")
    return text


def _number(text: str) -> int | float:
    value = float(text)
    if math.isinf(value):
        raise NotJson(f"{text} is too large for a JSON number")
    if value.is_integer() and abs(value) <= EXACT_INTEGER_MAX:
        return int(value)
    return value
