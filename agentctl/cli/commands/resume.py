"""`agentctl resume`."""

from __future__ import annotations

from agentctl.cli import options
from agentctl.cli.command import command, single
from agentctl.cli.console import Console

app = single()


@command(app, "resume", streams=True)
def resume(
    console: Console,
    run_id: options.RunId,
    workspace: options.RunWorkspace = None,
    timeout_seconds: options.TimeoutSeconds = None,
) -> int:
    """Go on with a run that was interrupted or that waited; what is done is not done again."""
    from agentctl.cli.drive import about, drive
    from agentctl.cli.follow import following, plan_order
    from agentctl.cli.loading import open_engine
    from agentctl.cli.outcome import report

    engine = open_engine(console)
    try:
        history = about(console, engine, run_id)
        with following(console, engine, plan_order(history)):
            outcome = drive(
                console,
                engine,
                lambda: engine.resume(
                    run_id, workspace=workspace, timeout_seconds=timeout_seconds
                ),
            )
        return report(console, outcome)
    finally:
        engine.close()
