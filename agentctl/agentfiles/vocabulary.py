"""The seven scopes that every agent file is read to, in their one order.

Above: the readers and `compat`. Below: nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

SCOPES: Final = ("read", "edit", "search", "execute", "todo", "agent", "retrieval")
SCOPE_MEANINGS: Final = {
    "read": "open a file",
    "edit": "change or create a file",
    "search": "find files or text",
    "execute": "run commands",
    "todo": "keep a task list",
    "agent": "dispatch other agents",
    "retrieval": "one fixed research command",
}


def in_order(scopes: Iterable[str]) -> tuple[str, ...]:
    """Return the scopes among some names, each once, in the fixed order."""
    given = set(scopes)
    return tuple(one for one in SCOPES if one in given)
