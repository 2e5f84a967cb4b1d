"""`agentctl repair`."""

from __future__ import annotations

from agentctl.cli import options
from agentctl.cli.command import command, single
from agentctl.cli.console import Console

app = single()


@command(app, "repair", streams=True)
def repair(
    console: Console,
    file: options.File,
    run_id: options.RunId,
    roots: options.Roots = None,
    restart_successful: options.RestartSuccessful = False,
    plan: options.PlanOnly = False,
    reason: options.Reason = "",
    workspace: options.Workspace = None,
    timeout_seconds: options.TimeoutSeconds = None,
) -> int:
    """Run a changed workflow from named tasks on; what provably serves again is taken over."""
    from agentctl.cli import loading
    from agentctl.cli.deriving import carry_out, show_plan
    from agentctl.cli.drive import about

    engine = loading.open_existing(console)
    try:
        run_id = about(console, engine, run_id).run.id
        loaded = loading.load(engine, file, workspace)
        if plan:
            found = engine.plan_repair(
                loaded,
                run_id,
                roots=roots or (),
                restart_successful=restart_successful,
            )
            return show_plan(console, found)
        return carry_out(
            console,
            engine,
            loaded.plan.order,
            lambda: engine.repair(
                loaded,
                run_id,
                roots=roots or (),
                restart_successful=restart_successful,
                reason=reason,
                timeout_seconds=timeout_seconds,
            ),
        )
    finally:
        engine.close()
