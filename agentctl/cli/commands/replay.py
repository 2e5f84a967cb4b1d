"""`agentctl replay`."""

from __future__ import annotations

from typing import Annotated

import typer

from agentctl.cli import options
from agentctl.cli.command import command, single
from agentctl.cli.console import Console

app = single()

RunId = Annotated[
    str | None, typer.Argument(metavar="[RUN]", help="A run id.", show_default=False)
]
Against = Annotated[
    str | None,
    typer.Option(
        "--against",
        metavar="FILE",
        help="Say whether this workflow would still produce the recorded history.",
    ),
]
ExportFile = Annotated[
    str | None,
    typer.Option("--file", metavar="FILE", help="An exported run, with --against."),
]


@command(app, "replay", streams=True)
def replay(
    console: Console,
    run_id: RunId = None,
    against: Against = None,
    file: ExportFile = None,
    workspace: options.Workspace = None,
) -> int:
    """Copy a finished run from its records; nothing is dispatched and no file is read.

    With --against, nothing is stored either: the workflow's own programs get the recorded answers.
    """
    from agentctl.errors import UsageError

    if (run_id is None) == (file is None):
        raise UsageError("give either a run id or --file")
    if against is not None:
        from agentctl.cli.rehearsing import rehearse_export, rehearse_run

        if file is not None:
            return rehearse_export(console, file, against, workspace)
        assert run_id is not None
        return rehearse_run(console, run_id, against, workspace)
    if run_id is None or workspace is not None:
        raise UsageError("--file and --workspace go with --against", help="add --against FILE")
    return _copy(console, run_id)


def _copy(console: Console, run_id: str) -> int:
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
