"""Small text tools for people: colours, tables, ages, and text made safe for a terminal.

Above: every command's human rendering. Below: nothing. It never writes anything itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_CODES: Final = {
    "bold": "1",
    "dim": "2",
    "red": "31",
    "green": "32",
    "yellow": "33",
    "blue": "34",
    "cyan": "36",
}
_MINUTE: Final = 60
_KIBI: Final = 1024


def paint(text: str, colour: str, *, on: bool) -> str:
    """Return the text in a colour, or as it is when colours are off."""
    code = _CODES.get(colour)
    return f"\x1b[{code}m{text}\x1b[0m" if on and code else text


def visible(text: str) -> str:
    """Return text whose control characters are shown as escapes, so it cannot steer a terminal."""
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() or one == "\t" else _escape(one) for one in text)


def _escape(character: str) -> str:
    return character.encode("unicode_escape", "backslashreplace").decode("ascii")


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return rows in aligned columns under a head line; the last column is never padded."""
    cells = [[visible(cell) for cell in row] for row in rows]
    every = [list(head), *cells]
    widths = [max(len(row[place]) for row in every) for place in range(len(head))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in every
    )


def facts(pairs: Iterable[tuple[str, str]]) -> str:
    """Return named facts, one on a line, with their values aligned."""
    listed = [(name, visible(value)) for name, value in pairs]
    width = max((len(name) for name, _ in listed), default=0)
    return "\n".join(f"{name.ljust(width)}  {value}".rstrip() for name, value in listed)


def counted(number: int, what: str) -> str:
    """Return a number with what is counted, in the plural when there is not one of it."""
    return f"{number} {what}{'' if number == 1 else 's'}"


def duration(seconds: float) -> str:
    """Return a length of time in the two largest units that matter, such as `3m 12s`."""
    if seconds < 1:
        return f"{max(seconds, 0) * 1000:.0f}ms"
    if seconds < _MINUTE:
        return f"{seconds:.1f}s"
    whole = int(seconds)
    for size, name, smaller, its_name in (
        (86_400, "d", 3_600, "h"),
        (3_600, "h", _MINUTE, "m"),
        (_MINUTE, "m", 1, "s"),
    ):
        if whole >= size:
            return f"{whole // size}{name} {whole % size // smaller}{its_name}"
    return f"{whole}s"


def size(size_bytes: int) -> str:
    """Return a number of bytes in a unit a person reads."""
    amount = float(size_bytes)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if amount < _KIBI or unit == "GiB":
            return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= _KIBI
    return f"{size_bytes} B"
