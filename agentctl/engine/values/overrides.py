"""`KEY=VALUE` of the command line.

Above: the CLI. Below: JSON values. Never: file I/O.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from agentctl.engine.values.layers import RESERVED_NAMES
from agentctl.errors import UsageError
from agentctl.jsonvalue import canonical, parse_json

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agentctl.jsonvalue import JsonValue

# A name that a template can say.
_NAME: Final = re.compile(r"[A-Za-z0-9_-]+")


def parse_input(text: str) -> tuple[str, JsonValue]:
    """Split an `--input KEY=VALUE`; the value is JSON if it parses, else the text itself.

    Raises UsageError for a malformed name, and for an object with a repeated key.
    """
    name, raw = _split(text, "--input", "VALUE")
    try:
        return name, _encodable(parse_json(raw), f"--input {name}")
    except RecursionError:
        raise UsageError(f"--input {name} is nested too deeply") from None
    except ValueError as error:
        # It is JSON, and the user meant it to be; as text it would only surprise later.
        if str(error).startswith("duplicate key"):
            raise UsageError(f"--input {name}: {error}") from None
        return name, raw


def parse_var(text: str) -> tuple[str, JsonValue]:
    """Split a `--var KEY=JSON`.

    Raises UsageError for a malformed or reserved name and for a value that is not JSON.
    """
    name, raw = _split(text, "--var", "JSON")
    if name in RESERVED_NAMES:
        reserved = ", ".join(sorted(RESERVED_NAMES))
        raise UsageError(f"--var {name}: this name is reserved", help=f"reserved: {reserved}")
    try:
        return name, _encodable(parse_json(raw), f"--var {name}")
    except RecursionError:
        raise UsageError(f"--var {name} is nested too deeply") from None
    except ValueError as error:
        reason = str(error) if str(error).startswith("duplicate key") else "the value is not JSON"
        raise UsageError(
            f"--var {name}: {reason}",
            help=f"text needs quotes inside the shell's quotes: --var '{name}=\"text\"'",
        ) from None


def parse_vars(texts: Iterable[str]) -> list[tuple[str, JsonValue]]:
    """Split every `--var` in order; of a repeated name the last one wins."""
    return list(dict(map(parse_var, texts)).items())


def _split(text: str, option: str, what: str) -> tuple[str, str]:
    name, equals, raw = text.partition("=")
    shown = name[:40]
    if not equals:
        raise UsageError(f"{option} {shown!r} has no '='", help=f"write {option} KEY={what}")
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"{option}: {shown!r} is not a name", help="a name has letters, digits, _ and - only"
        )
    try:
        raw.encode("utf-8")
    except UnicodeEncodeError:
        raise UsageError(f"{option} {name} is not UTF-8") from None
    return name, raw


def _encodable(value: JsonValue, what: str) -> JsonValue:
    """Refuse lone surrogates, which JSON escapes can spell and no file can hold."""
    try:
        canonical(value).encode("utf-8")
    except UnicodeEncodeError:
        raise UsageError(f"{what} holds half of a surrogate pair") from None
    return value
