"""`agentctl fork`."""

from __future__ import annotations

from agentctl.cli import options
from agentctl.cli.command import command, single
from agentctl.cli.console import Console

app = single()


@command(app, "fork", streams=True)
def fork(
    console: Console,
    run_id: options.RunId,
    roots: options.Roots = None,
    plan: options.PlanOnly = False,
    reason: options.Reason = "",
    timeout_seconds: options.TimeoutSeconds = None,
) -> int:
    """Run a recorded plan again with fresh effects, from the start or from named tasks."""
    from agentctl.cli.deriving import carry_out, show_plan
    from agentctl.cli.drive import about
    from agentctl.cli.follow import plan_order
    from agentctl.cli.loading import open_existing

    engine = open_existing(console)
    try:
        history = about(console, engine, run_id)
        source = history.run.id
        if plan:
            return show_plan(console, engine.plan_fork(source, roots=roots or ()))
        return carry_out(
            console,
            engine,
            plan_order(history),
            lambda: engine.fork(
                source, roots=roots or (), reason=reason, timeout_seconds=timeout_seconds
            ),
        )
    finally:
        engine.close()
