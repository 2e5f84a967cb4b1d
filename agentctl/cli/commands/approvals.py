"""`agentctl approvals`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, cast

import typer

from agentctl.cli import options
from agentctl.cli.command import command, make
from agentctl.cli.console import Console

if TYPE_CHECKING:
    from agentctl.jsonvalue import JsonObject, JsonValue

app = make("approvals", "List and decide what a run asks a person for.")

ApprovalId = Annotated[
    str, typer.Argument(metavar="APPROVAL", help="An approval's id.", show_default=False)
]
Everything = Annotated[bool, typer.Option("--all", help="Also those that were decided.")]


@command(app, "list")
def show(console: Console, run_id: options.RunId, all: Everything = False) -> int:
    """List the questions of a run that wait for an answer."""
    from agentctl.cli.drive import about
    from agentctl.cli.loading import open_existing
    from agentctl.engine.view import approval_view, pending_approvals

    engine = open_existing(console)
    try:
        history = about(console, engine, run_id)
        found = list(history.approvals) if all else pending_approvals(history)
        listed: list[JsonValue] = [approval_view(one) for one in found]
        console.result("Approvals", listed, lambda: _table(listed))
        return 0
    finally:
        engine.close()


@command(app, "approve")
def approve(
    console: Console,
    approval_id: ApprovalId,
    reason: options.Reason = "",
    actor: options.Actor = None,
) -> int:
    """Allow exactly the effect that was asked about; `agentctl resume` then goes on."""
    return _decide(console, approval_id, True, actor, reason)


@command(app, "reject")
def reject(
    console: Console,
    approval_id: ApprovalId,
    reason: options.Reason = "",
    actor: options.Actor = None,
) -> int:
    """Refuse the effect that was asked about; `agentctl resume` then fails the run."""
    return _decide(console, approval_id, False, actor, reason)


def _decide(
    console: Console, approval_id: str, approves: bool, actor: str | None, reason: str
) -> int:
    from agentctl.cli.drive import login
    from agentctl.cli.loading import open_existing
    from agentctl.engine.view import approval_view

    engine = open_existing(console)
    try:
        decided = engine.decide_approval(
            approval_id, approve=approves, actor=actor or login(), reason=reason
        )
        data = approval_view(decided)
        console.result("Approval", data, lambda: f"approval {approval_id} {decided.state}")
        return 0
    finally:
        engine.close()


def _table(listed: list[JsonValue]) -> str:
    from agentctl.cli.paint import table

    rows = cast("list[JsonObject]", listed)
    if not rows:
        return "nothing waits for an answer"
    keys = ("approvalId", "taskId", "state", "summary")
    cells = [[str(row[key]) for key in keys] for row in rows]
    return table(("approval", "task", "state", "asks for"), cells)
