"""Texts as YAML and TOML write them, on one line or as a block, so that no text adds a key.

Above: the renderers. Below: nothing. The escapes used are those that both notations share.
"""

from __future__ import annotations

import re
from typing import Final

_ESCAPED: Final = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}
# Control characters, line ends of any standard, byte order marks; halves of pairs are no text.
_SPECIAL: Final = re.compile(r'[\\"\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]')
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_PLAIN_BLOCK: Final = re.compile(r"[^\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]*")


def quoted(text: str) -> str:
    """Return a text in double quotes."""
    body = _SPECIAL.sub(_escape, _SURROGATE.sub("\ufffd", text))
    return f'"{body}"'


def _escape(found: re.Match[str]) -> str:
    return _ESCAPED.get(found[0]) or f"\\u{ord(found[0]):04x}"


def yaml_block(text: str, indent: str = "  ") -> str:
    """Return a text as the value of a YAML key: a literal block where it is exact, else quoted."""
    body = text.removesuffix("\n")
    is_exact = (
        body.strip()
        and not text.startswith((" ", "\n"))
        and not body.endswith("\n")
        and "\t" not in text
        and _PLAIN_BLOCK.fullmatch(text)
        and not _SURROGATE.search(text)
    )
    if not is_exact:
        return quoted(text)
    lines = "\n".join(f"{indent}{line}" if line else "" for line in body.split("\n"))
    return f"|{'' if text.endswith(chr(10)) else '-'}\n{lines}"


def toml_block(text: str) -> str:
    """Return a text as a TOML value, over several lines where it has several."""
    inside = quoted(text)[1:-1]
    if "\n" not in text:
        return f'"{inside}"'
    # With a backslash in the text, a quoted `n` behind one may not be a line break.
    if "\\" in text:
        return f'"{inside}"'
    return '"""\n' + inside.replace("\\n", "\n") + '"""'
