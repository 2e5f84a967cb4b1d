"""`agentctl approvals`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, cast

import typer

from agentctl.cli import options
from agentctl.cli.command import command, make
from agentctl.cli.console import Console

if TYPE_CHECKING:
    from agentctl.door import Engine
    from agentctl.engine.records import ApprovalRecord
    from agentctl.jsonvalue import JsonObject, JsonValue

app = make("approvals", "List and decide what runs ask a person for.")

ApprovalId = Annotated[
    str, typer.Argument(metavar="APPROVAL", help="An approval's id.", show_default=False)
]
OfRun = Annotated[
    str | None,
    typer.Argument(metavar="[RUN]", help="A run id. [default: every run]", show_default=False),
]
Everything = Annotated[bool, typer.Option("--all", help="Also those that were decided.")]


@command(app, "list")
def show(console: Console, run_id: OfRun = None, all: Everything = False) -> int:
    """List the questions that wait for an answer: those of a run, or of every run."""
    from agentctl.cli.loading import open_existing

    engine = open_existing(console)
    try:
        rows = [_row(*one) for one in _listed(console, engine, run_id, all)]
    finally:
        engine.close()
    listed: list[JsonValue] = [*rows]
    console.result("Approvals", listed, lambda: _table(rows, of_one_run=run_id is not None))
    return 0


@command(app, "inspect")
def inspect(console: Console, approval_id: ApprovalId) -> int:
    """Show one question with the whole request, what it would change, and what became of it."""
    from agentctl.cli import question
    from agentctl.cli.drive import about
    from agentctl.cli.loading import open_existing
    from agentctl.engine.operations.approve import run_of

    engine = open_existing(console)
    try:
        history = about(console, engine, run_of(approval_id, engine.store))
        found = {one.id: one for one in history.approvals}[approval_id]
        data = question.gather(engine, history, found)
    finally:
        engine.close()
    console.result("Approval", data, lambda: _human(data, colour=console.uses_colour()))
    return 0


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
    """Refuse the effect that was asked about; `agentctl resume` then fails its task."""
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
        run_id = engine.store.run_of_approval(approval_id)
    finally:
        engine.close()
    data = {**approval_view(decided), "runId": run_id}
    told = f"approval {approval_id} {decided.state}\n  `agentctl resume {run_id}` goes on"
    console.result("Approval", data, lambda: told)
    return 0


def _listed(
    console: Console, engine: Engine, run_id: str | None, all: bool
) -> list[tuple[str, ApprovalRecord]]:
    """Return the questions that are asked for, each with its run."""
    from agentctl.cli.drive import about
    from agentctl.engine.view import pending_approvals
    from agentctl.machines.names import ApprovalStates

    if run_id is None:
        return engine.store.list_approvals(() if all else (ApprovalStates.pending,))
    history = about(console, engine, run_id)
    found = list(history.approvals) if all else pending_approvals(history)
    return [(run_id, one) for one in found]


def _row(run_id: str, question: ApprovalRecord) -> JsonObject:
    from agentctl.clock import SystemClock
    from agentctl.engine.question_view import seconds_left
    from agentctl.engine.view import approval_view

    left = seconds_left(question, SystemClock().now())
    return {**approval_view(question), "runId": run_id, "expiresInSeconds": left}


def _table(rows: list[JsonObject], *, of_one_run: bool) -> str:
    from agentctl.cli.paint import table

    if not rows:
        return "nothing waits for an answer"
    keys = ["approvalId", "taskId", "state", "summary"]
    head = ["approval", "task", "state", "asks for"]
    if not of_one_run:
        keys.insert(1, "runId")
        head.insert(1, "run")
    expires = any(row["expiresAt"] for row in rows)
    cells = [[str(row[key]) for key in keys] for row in rows]
    if expires:
        # The last column may be long, so this one goes before it.
        head.insert(-1, "expires")
        for row, shown in zip(rows, cells, strict=True):
            shown.insert(-1, _expiry(row))
    return table(head, cells)


def _expiry(row: JsonObject) -> str:
    from agentctl.cli.question import expiry

    if row["decidedAt"]:
        return str(row["expiresAt"] or "")
    return expiry(cast("float | None", row["expiresInSeconds"]))


def _human(data: JsonObject, *, colour: bool) -> str:
    from agentctl.cli import question
    from agentctl.cli.paint import facts, visible

    request = cast("JsonObject", data["request"] or {})
    pairs = [
        ("approval", str(data["approvalId"])),
        ("run", f"{data['runId']} ({data['workflow']}, {data['runState']})"),
        ("state", str(data["state"])),
        ("effect", f"{request.get('effect')}  {data['effectId']}"),
        ("key", str(request.get("idempotencyKey"))),
        ("digest", str(data["requestDigest"])),
        ("asked", str(data["requestedAt"])),
        ("can", ", ".join(cast("list[str]", data["canDo"])) or "nothing: it is final"),
    ]
    moves = [
        f"  {one['at']} {one['event']} by {one['actor'] or 'agentctl'}: {_why(one)}"
        for one in cast("list[JsonObject]", data["history"])
    ]
    parts = [facts(pairs), question.human(data, colour=colour)]
    if moves:
        parts.append("\n".join(["decided", *map(visible, moves)]))
    return "\n".join(parts)


def _why(move: JsonObject) -> str:
    detail = move["detail"]
    return str(detail.get("reason") or "no reason given") if isinstance(detail, dict) else ""
