"""`agentctl resume`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentctl.cli import options
from agentctl.cli.command import command, single
from agentctl.cli.console import Console

if TYPE_CHECKING:
    from agentctl.cli.approving import Approving
    from agentctl.door import Engine
    from agentctl.engine.events import RunOutcome

app = single()


@command(app, "resume", streams=True)
def resume(
    console: Console,
    run_id: options.RunId,
    workspace: options.RunWorkspace = None,
    timeout_seconds: options.TimeoutSeconds = None,
    raise_budget: options.RaiseBudgets = None,
    actor: options.Actor = None,
    interactive: options.Interactive = False,
) -> int:
    """Go on with a run that was interrupted or that waited; what is done is not done again."""
    from agentctl.cli.drive import about, drive, login
    from agentctl.cli.follow import following, plan_order
    from agentctl.cli.loading import open_existing, require_same_folder
    from agentctl.cli.outcome import report

    limits = _limits(raise_budget or [])
    engine = open_existing(console)
    try:
        history = about(console, engine, run_id)
        if workspace is not None:
            require_same_folder(history, workspace)
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
