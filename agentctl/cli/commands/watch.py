"""`agentctl watch`."""

from __future__ import annotations

from typing import Annotated

import typer

from agentctl.cli import options
from agentctl.cli.command import command, single
from agentctl.cli.console import Console

app = single()

From = Annotated[
    int,
    typer.Option("--from", metavar="SEQUENCE", help="Begin with this move of the journal.", min=1),
]


@command(app, "watch", streams=True)
def watch(console: Console, run_id: options.RunId, from_: From = 1) -> int:
    """Follow a run that another process moves, until it ends or waits; exit as the run does."""
    from agentctl.cli.drive import about
    from agentctl.cli.follow import plan_order, showing
    from agentctl.cli.loading import open_existing
    from agentctl.cli.outcome import report
    from agentctl.cli.watching import Watch
    from agentctl.engine.finish import stored_outcome
    from agentctl.machines.sets import RUN_ACTIVE

    engine = open_existing(console)
    try:
        history = about(console, engine, run_id)
        with showing(console, plan_order(history)) as see:
            Watch(engine.store, history.run, from_, see).to_the_end()
        outcome = stored_outcome(engine.history(run_id))
        if outcome.state in RUN_ACTIVE:
            console.note(f"no process moves it; `agentctl resume {run_id}` goes on")
        return report(console, outcome)
    finally:
        engine.close()
