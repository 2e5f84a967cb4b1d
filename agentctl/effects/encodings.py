"""The forms in which a secret value may appear in output: plain and commonly encoded.

Above: `effects.redaction`. Pure. A value with fewer than `SECRET_CHARACTERS_MIN` characters is
ignored, because it would take ordinary text apart.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from html import escape
from shlex import quote as shell_quote
from typing import TYPE_CHECKING, Final, overload
from urllib.parse import quote, quote_plus

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

SECRET_CHARACTERS_MIN: Final = 4
# A line of a value with several, such as a private key, is looked for by itself.
_LINE_CHARACTERS_MIN: Final = 8
# What URL libraries leave as it is differs; these cover RFC 3986, paths, and ECMAScript.
_URL_SAFE: Final = ("", "/", "!'()*", "!'()*/", ";/?:@&=+$,#!'()*")
_BITS_PER_CHARACTER: Final = 6
_BREAK: Final = r"\\r|\\n|[\r\n]"
_TEXT_BREAKS: Final = re.compile(_BREAK)
_DATA_BREAKS: Final = re.compile(_BREAK.encode())


def forms_of(values: Iterable[str]) -> tuple[set[str], set[str]]:
    """Return what some values look like in one piece, and in encodings that programs wrap.

    Values and forms with fewer than SECRET_CHARACTERS_MIN characters are left out.
    """
    solid: set[str] = set()
    wrapped: set[str] = set()
    for value in values:
        for part in _parts(value):
            solid |= {part, *_escaped(part), *_url(part)}
            wrapped |= {*_hex(part), *_base64(part)}
    return _long_enough(solid), _long_enough(wrapped)


@overload
def line_breaks(text: str) -> re.Pattern[str]: ...
@overload
def line_breaks(text: bytes) -> re.Pattern[bytes]: ...
def line_breaks(text: str | bytes) -> re.Pattern[str] | re.Pattern[bytes]:
    """Return what finds line breaks in such a text, also those that JSON escapes."""
    return _TEXT_BREAKS if isinstance(text, str) else _DATA_BREAKS


def _parts(value: str) -> Iterator[str]:
    """Yield a value, and each long line of one with several; nothing for a short value."""
    if len(value) >= SECRET_CHARACTERS_MIN:
        yield value
    lines = value.splitlines()
    if len(lines) > 1:
        yield from (line for line in lines if len(line) >= _LINE_CHARACTERS_MIN)


def _long_enough(forms: set[str]) -> set[str]:
    return {one for one in forms if len(one) >= SECRET_CHARACTERS_MIN}


def _escaped(value: str) -> Iterator[str]:
    """Yield the value as it stands inside the quotes of JSON, Python, HTML and a shell."""
    for ascii_only in (True, False):
        once = json.dumps(value, ensure_ascii=ascii_only)[1:-1]
        for one in (once, once.replace("/", "\\/"), _upper_escapes(once)):
            yield one
            # Output that is JSON often holds JSON as a text.
            yield json.dumps(one, ensure_ascii=ascii_only)[1:-1]
    for written in (repr(value), repr(value.encode("utf-8", "surrogatepass"))[1:]):
        yield written[1:-1]
    yield escape(value)
    yield escape(value, quote=False)
    yield shell_quote(value).strip("'")


def _upper_escapes(text: str) -> str:
    """Return JSON text with the hexadecimal digits of its escapes in capitals."""
    head, *rest = text.split("\\u")
    return head + "".join(f"\\u{one[:4].upper()}{one[4:]}" for one in rest)


def _url(value: str) -> Iterator[str]:
    raw = value.encode("utf-8", "surrogatepass")
    for encoded in (*(quote(raw, safe=safe) for safe in _URL_SAFE), quote_plus(raw)):
        yield encoded
        head, *rest = encoded.split("%")
        yield head + "".join(f"%{one[:2].lower()}{one[2:]}" for one in rest)


def _hex(value: str) -> Iterator[str]:
    written = value.encode("utf-8", "surrogatepass").hex()
    yield written
    yield written.upper()


def _base64(value: str) -> Iterator[str]:
    """Yield what a value looks like in base64, wherever it stands among other bytes.

    A character holds six bits, so there are three alignments. The characters that also depend
    on the bytes before are left out. Those that also depend on the bytes after are left out once,
    and once kept as they are at the end of the data.
    """
    raw = value.encode("utf-8", "surrogatepass")
    for before in range(3):
        encoded = b64encode(b"\0" * before + raw).decode().rstrip("=")
        first = -(-before * 8 // _BITS_PER_CHARACTER)
        whole = (before + len(raw)) * 8 // _BITS_PER_CHARACTER
        for one in (encoded[first:whole], encoded[first:]):
            yield one
            yield one.replace("+", "-").replace("/", "_")
