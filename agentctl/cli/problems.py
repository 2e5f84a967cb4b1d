"""Diagnostics for people, as compilers show them, and for programs.

Above: `main` and `check`. Below: nothing but reading the named file again to quote a line.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from agentctl.cli.paint import counted, paint, visible
from agentctl.limits import DOCUMENT_BYTES_MAX

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from agentctl.diagnostics import Diagnostic
    from agentctl.jsonvalue import JsonObject, JsonValue

_TOKEN = re.compile(r"\"[^\"]*\"|'[^']*'|[^\s,#\]}]+")
_QUOTE_WIDTH_MAX = 160


def as_json(found: Iterable[Diagnostic]) -> list[JsonValue]:
    """Return diagnostics as JSON, every field present."""
    return [_one_as_json(one) for one in found]


def _one_as_json(one: Diagnostic) -> JsonObject:
    return {
        "code": one.code,
        "severity": one.severity,
        "message": one.message,
        "file": one.file,
        "line": one.line,
        "column": one.column,
        "path": one.path,
        "help": one.help,
    }


def render(found: Sequence[Diagnostic], *, colour: bool) -> str:
    """Return diagnostics as text with the offending lines, and a count at the end."""
    lines_of: dict[str, list[str]] = {}
    parts = [_render_one(one, lines_of, colour=colour) for one in found]
    errors = sum(one.severity == "error" for one in found)
    if errors:
        parts.append(counted(errors, "error"))
    return "\n".join(parts)


def _render_one(one: Diagnostic, lines_of: dict[str, list[str]], *, colour: bool) -> str:
    place = ":".join(str(part) for part in (one.file, one.line, one.column) if part is not None)
    hue = "red" if one.severity == "error" else "yellow"
    kind = paint(f"{one.severity}[{one.code}]", hue, on=colour)
    text = [f"{paint(visible(place), 'bold', on=colour)}: {kind}: {visible(one.message)}"]
    text += _quote(one, lines_of, colour=colour)
    if one.path:
        text.append(f"   at: {visible(one.path)}")
    if one.help:
        text.append(f"   help: {visible(one.help)}")
    return "\n".join(text)


def _quote(one: Diagnostic, lines_of: dict[str, list[str]], *, colour: bool) -> list[str]:
    """Return the source line and a caret line, or nothing when there is no such line."""
    if one.line is None:
        return []
    lines = lines_of.setdefault(one.file, _lines(one.file) if one.file not in lines_of else [])
    if not 1 <= one.line <= len(lines):
        return []
    source = lines[one.line - 1].rstrip()
    if not source or len(source) > _QUOTE_WIDTH_MAX:
        return []
    number = str(one.line)
    gutter = " " * len(number)
    quoted = [f" {number} | {visible(source)}"]
    if one.column is not None and one.column <= len(source) + 1:
        token = _TOKEN.match(source, one.column - 1)
        width = len(token[0]) if token else 1
        lead = "".join("\t" if char == "\t" else " " for char in source[: one.column - 1])
        quoted.append(f" {gutter} | {lead}{paint('^' * width, 'cyan', on=colour)}")
    return quoted


def _lines(file: str) -> list[str]:
    try:
        with open(file, "rb") as opened:
            data = opened.read(DOCUMENT_BYTES_MAX + 1)
    except (OSError, ValueError):
        return []
    return data.decode("utf-8", "replace").splitlines()
