"""`agentctl resume`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from agentctl.cli import options
from agentctl.cli.command import command, single
from agentctl.cli.console import Console

if TYPE_CHECKING:
    from agentctl.cli.approving import Approving
    from agentctl.door import Engine
    from agentctl.engine.events import RunOutcome

app = single()

RunId = Annotated[
    str | None, typer.Argument(metavar="[RUN]", help="A run id.", show_default=False)
]
Everything = Annotated[
    bool, typer.Option("--all", help="Every run that is not over, for a scheduler to call.")
]
KeepPlan = Annotated[
    bool,
    typer.Option(
        "--keep-plan", help="Go on with the recorded plan although the workflow file changed."
    ),
]
PlanOnly = Annotated[
    bool,
    typer.Option("--plan", help="Only show what the workflow file says differently by now."),
]


@command(app, "resume", streams=True)
def resume(
    console: Console,
    run_id: RunId = None,
    all: Everything = False,
    workspace: options.RunWorkspace = None,
    timeout_seconds: options.TimeoutSeconds = None,
    raise_budget: options.RaiseBudgets = None,
    actor: options.Actor = None,
    interactive: options.Interactive = False,
    keep_plan: KeepPlan = False,
    plan: PlanOnly = False,
) -> int:
    """Go on with a run that was interrupted or that waited; what is done is not done again."""
    if run_id is None or all:
        flags = (one or None for one in (interactive, keep_plan, plan))
        alone = (run_id, workspace, raise_budget, actor, *flags)
        return _resume_all(console, alone, timeout_seconds, all=all)
    from agentctl.cli.drive import about, drive, login
    from agentctl.cli.follow import following, plan_order
    from agentctl.cli.loading import open_existing, require_same_folder
    from agentctl.cli.outcome import report
    from agentctl.cli.parked import require_unchanged, show_changes

    limits = _limits(raise_budget or [])
    engine = open_existing(console)
    try:
        history = about(console, engine, run_id)
        if workspace is not None:
            require_same_folder(history, workspace)
        if plan:
            return show_changes(console, engine, history.run)
        if not keep_plan:
            require_unchanged(console, engine, history.run)
        who = actor or login()
        asking = _asking(console, engine, timeout_seconds, who) if interactive else None

        def go_on() -> RunOutcome:
            with following(console, engine, plan_order(history)):
                return drive(
                    console,
                    engine,
                    lambda: engine.resume(
                        run_id,
                        timeout_seconds=timeout_seconds,
                        raise_budgets=limits,
                        actor=who,
                        interactive=asking is not None,
                    ),
                )

        return report(console, go_on() if asking is None else asking.drive(go_on))
    finally:
        engine.close()


def _resume_all(
    console: Console, alone: tuple[object, ...], timeout_seconds: float | None, *, all: bool
) -> int:
    from agentctl.cli.resuming import resume_all
    from agentctl.errors import UsageError

    if not all:
        raise UsageError("give either a run id or --all", help="see `agentctl runs --stuck`")
    if any(one is not None for one in alone):
        raise UsageError(
            "--all takes neither a run nor what is decided for one",
            help="--timeout-seconds is the only option that goes with it",
        )
    return resume_all(console, timeout_seconds)


def _asking(
    console: Console, engine: Engine, timeout_seconds: float | None, actor: str
) -> Approving | None:
    """Return the dialogue about approvals, or None where there is nobody to talk to."""
    from agentctl.cli.approving import Approving, on_a_terminal

    if not on_a_terminal(console):
        return None
    return Approving(console, engine, timeout_seconds, actor)


def _limits(given: list[str]) -> dict[str, int]:
    """Read `NAME=VALUE` options; every wrong one is named at once. Raises UsageError."""
    from agentctl.errors import UsageError

    limits: dict[str, int] = {}
    wrong = []
    for one in given:
        name, _, value = one.partition("=")
        if name and value.isascii() and value.isdigit() and int(value) > 0:
            limits[name] = int(value)
        else:
            wrong.append(repr(one))
    if wrong:
        raise UsageError(
            f"--raise-budget {', '.join(wrong)}: expected NAME=VALUE with a whole number above 0",
            help="for example --raise-budget maxTurns=20",
        )
    return limits
