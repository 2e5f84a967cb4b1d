"""`agentctl compensate`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, cast

import typer

from agentctl.cli import options
from agentctl.cli.command import command, single
from agentctl.cli.console import Console

if TYPE_CHECKING:
    from agentctl.engine.recovery.inverses import CompensationPlan
    from agentctl.jsonvalue import JsonObject

app = single()

Tasks = Annotated[
    list[str] | None,
    typer.Option("--task", metavar="TASK", help="Undo only this; may be given several times."),
]
PlanOnly = Annotated[bool, typer.Option("--plan", help="Only show what would be undone, and how.")]


@command(app, "compensate", streams=True)
def compensate(
    console: Console,
    run_id: options.RunId,
    tasks: Tasks = None,
    plan: PlanOnly = False,
    actor: options.Actor = None,
    reason: options.Reason = "",
    workspace: options.RunWorkspace = None,
    timeout_seconds: options.TimeoutSeconds = None,
) -> int:
    """Undo what a run did, by the inverses that its tasks declare, last things first."""
    from agentctl.cli.deriving import carry_out
    from agentctl.cli.drive import about, login
    from agentctl.cli.loading import open_existing, require_same_folder

    engine = open_existing(console)
    try:
        history = about(console, engine, run_id)
        source = history.run.id
        if workspace is not None:
            require_same_folder(history, workspace)
        if plan:
            return _show(console, engine.plan_compensation(source, tasks=tasks or ()))
        return carry_out(
            console,
            engine,
            (),
            lambda: engine.compensate(
                source,
                tasks=tasks or (),
                actor=actor or login(),
                reason=reason,
                timeout_seconds=timeout_seconds,
            ),
        )
    finally:
        engine.close()


def _show(console: Console, made: CompensationPlan) -> int:
    """Write a plan; one that something stands against leaves with 3."""
    data = made.to_json()
    console.result("CompensationPlan", data, lambda: _human(data))
    return 3 if made.obstacles else 0


def _human(data: JsonObject) -> str:
    from agentctl.cli.paint import table, visible

    lines = [f"source {data['sourceRunId']}"]
    tasks = cast("list[JsonObject]", data["tasks"])
    if tasks:
        rows = [
            tuple(visible(str(one[key])) for key in ("sourceTaskId", "uses", "state"))
            for one in tasks
        ]
        lines.append(table(("undoes", "with", "state"), rows))
    undone = cast("list[str]", data["alreadyCompensatedEffects"])
    if undone:
        lines.append(f"undone already: {len(undone)} effects")
    blocked = cast("list[JsonObject]", data["blocked"])
    lines += [
        visible(f"blocked: {one['taskId']}: {one['meaning']} ({one['rule']})") for one in blocked
    ]
    if not tasks and not blocked:
        lines.append("nothing is left to undo")
    return "\n".join(lines)
