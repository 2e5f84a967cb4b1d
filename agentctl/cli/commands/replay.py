"""`agentctl replay`."""

from __future__ import annotations

from agentctl.cli import options
from agentctl.cli.command import command, single
from agentctl.cli.console import Console

app = single()


@command(app, "replay", streams=True)
def replay(console: Console, run_id: options.RunId) -> int:
    """Copy a finished run from its records; nothing is dispatched and no file is read."""
    from agentctl.cli.drive import about, drive
    from agentctl.cli.follow import following, plan_order
    from agentctl.cli.loading import open_existing
    from agentctl.cli.outcome import report

    engine = open_existing(console)
    try:
        history = about(console, engine, run_id)
        with following(console, engine, plan_order(history)):
            outcome = drive(console, engine, lambda: engine.replay(run_id), needs_loop=False)
        return report(console, outcome)
    finally:
        engine.close()
