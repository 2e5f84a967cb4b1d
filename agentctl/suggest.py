"""The nearest right name for a wrong one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

# Below it names have little more in common than that they are words.
_ALIKE: Final = 0.65


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name most like `name`, or None when nothing is near."""
    from difflib import get_close_matches

    names = sorted(set(known))
    folded = {one.casefold(): one for one in reversed(names)}
    if name.casefold() in folded:
        return folded[name.casefold()]
    close = get_close_matches(name, names, n=1, cutoff=_ALIKE)
    return close[0] if close else None


def did_you_mean(name: str, known: Iterable[str]) -> str | None:
    """Return a help sentence with the nearest name, or what is known when nothing is near."""
    names = sorted(set(known))
    near = nearest(name, names)
    if near is not None:
        return f"did you mean {near!r}?"
    if not names:
        return None
    return "known: " + ", ".join(names[:12]) + (", …" if len(names) > 12 else "")
