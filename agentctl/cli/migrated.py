"""A migration of working memory for people: each key with its value before and after.

Above: plans of derived runs, and `inspect`. Below: nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from agentctl.cli.paint import table, visible
from agentctl.jsonvalue import canonical

if TYPE_CHECKING:
    from agentctl.jsonvalue import JsonObject


def told(migration: JsonObject) -> str:
    """Return a migration, as plans and views have it, as text."""
    how = " as an earlier run migrated it" if migration["carried"] else " migrated"
    rows = [
        (visible(str(one["key"])), _value(one, "before"), _value(one, "after"))
        for one in cast("list[JsonObject]", migration["keys"])
    ]
    return f"working memory is taken over{how}\n{table(('key', 'before', 'after'), rows)}"


def _value(row: JsonObject, side: str) -> str:
    return visible(canonical(row[side])) if side in row else "-"
