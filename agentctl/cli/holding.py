"""Whether the process that holds a run still lives.

Above: `runs`, `inspect`. Below: what the store says of a lease's holder.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agentctl.jsonvalue import JsonObject


def is_alive(holder: JsonObject | None) -> bool:
    """Say whether a live process owns the run; a holder of unknown fate counts as alive."""
    return holder is not None and holder.get("alive") is not False
