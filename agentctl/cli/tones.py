"""The colour of each state, the same in tables, live views and drawings of text.

Above: renderers. Below: the machines' names.
"""

from __future__ import annotations

from typing import Final

from agentctl.machines.names import EffectStates, RunStates, TaskStates

_BY_STATE: Final = {
    TaskStates.succeeded: "green",
    TaskStates.failed: "red",
    TaskStates.cancelled: "yellow",
    TaskStates.running: "cyan",
    TaskStates.waiting_for_approval: "yellow",
    TaskStates.waiting_for_effect: "yellow",
    TaskStates.retry_scheduled: "yellow",
    TaskStates.pending: "dim",
    TaskStates.skipped: "dim",
    RunStates.paused: "yellow",
    RunStates.waiting: "yellow",
    EffectStates.uncertain: "red",
}


def tone(state: str) -> str:
    """Return the colour of a state, by name; an empty text for none."""
    return _BY_STATE.get(state, "")
