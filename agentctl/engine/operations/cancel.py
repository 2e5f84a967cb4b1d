"""Cancel a run: ask its live owner, or end it here when nobody owns it.

Above: the embedded door and the CLI. Below: state and store. A run that is over cannot be
cancelled.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentctl.engine.apply import Work
from agentctl.engine.finish import outcome_of, stop
from agentctl.engine.ledger import interruption_event
from agentctl.engine.plan import plan_from_json
from agentctl.engine.state import state_from_history
from agentctl.engine.undoing import follow_inverses
from agentctl.errors import RunHeld
from agentctl.machines.legality import require
from agentctl.machines.names import EffectStates

if TYPE_CHECKING:
    from agentctl.clock import Instant
    from agentctl.engine.events import RunOutcome
    from agentctl.engine.ports import Store
    from agentctl.engine.state import RunState
    from agentctl.jsonvalue import JsonObject


def cancel(
    run_id: str, store: Store, now: Instant, *, actor: str, reason: str
) -> RunOutcome | None:
    """End the run as cancelled, or return None when its live owner was asked to.

    Raises UnknownRun, and StateError for a run that is over.
    """
    run = store.load_run(run_id).run
    require("cancel", run)
    try:
        journal = store.claim_run(run_id, now)
    except RunHeld:
        store.request_cancel(run_id, actor, reason, now)
        return None
    try:
        history = store.load_run(run_id)
        state = state_from_history(history, plan_from_json(history.plan))
        work = Work()
        _interrupt_started(state, work, now)
        error: JsonObject = {"code": "cancelled", "message": reason or "cancelled"}
        stop(state, work, now, event="cancel", error=error, actor=actor)
        follow_inverses(state, work, now)
        journal.commit(work)
    finally:
        journal.release()
    return outcome_of(state)


def _interrupt_started(state: RunState, work: Work, now: Instant) -> None:
    """Settle what a dead owner left in flight: definite if harmless, uncertain otherwise."""
    error: JsonObject = {"code": "cancelled", "message": "cancelled after its process ended"}
    for effect in list(state.effects.values()):
        if effect.state == EffectStates.started:
            event = interruption_event(effect)
            state.put_effect(work.move(effect, event, now, ended_at=now, error=error))
