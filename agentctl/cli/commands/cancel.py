"""`agentctl cancel`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentctl.cli import options
from agentctl.cli.command import command, single
from agentctl.cli.console import Console

if TYPE_CHECKING:
    from agentctl.jsonvalue import JsonObject

app = single()


@command(app, "cancel")
def cancel(
    console: Console,
    run_id: options.RunId,
    reason: options.Reason = "asked on the command line",
    actor: options.Actor = None,
) -> int:
    """End a run durably; when another process owns it, ask that process to."""
    from agentctl.cli.drive import about, drive, login
    from agentctl.cli.loading import open_existing
    from agentctl.cli.outcome import outcome_data

    engine = open_existing(console)
    try:
        about(console, engine, run_id)
        who = actor or login()
        outcome = drive(console, engine, lambda: engine.cancel(run_id, actor=who, reason=reason))
        if outcome is None:
            asked: JsonObject = {"runId": run_id, "requested": True}
            text = f"run {run_id}: its owner was asked to cancel it"
            console.result("CancelRequest", asked, lambda: text)
            return 0
        data = outcome_data(outcome)
        console.result("RunOutcome", data, lambda: f"run {run_id} {outcome.state}")
        return 0
    finally:
        engine.close()
