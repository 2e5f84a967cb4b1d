"""Lengths of time as people write them on a command line: `90s`, `15m`, `2h`, `3d`, `1w`.

Above: `runs`. Below: nothing.
"""

from __future__ import annotations

import re
from typing import Final

from agentctl.errors import UsageError

_SPAN: Final = re.compile(r"(\d{1,6}(?:\.\d{1,3})?)\s*(s|m|h|d|w)?")
_SECONDS: Final = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}


def seconds(option: str, text: str) -> float:
    """Return a length of time in seconds; a bare number counts seconds. Raises UsageError."""
    match = _SPAN.fullmatch(text.strip().lower())
    if match is None:
        raise UsageError(
            f"{option} wants a length of time, not {text!r}", help="for example 90s, 15m, 2h, 3d"
        )
    return float(match[1]) * _SECONDS[match[2] or "s"]
