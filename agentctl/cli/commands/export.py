"""`agentctl export`."""

from __future__ import annotations

from typing import Annotated

import typer

from agentctl.cli import options
from agentctl.cli.command import command, single
from agentctl.cli.console import Console

app = single()

Target = Annotated[
    str, typer.Argument(metavar="FILE", help="The file to make.", show_default=False)
]
Artifacts = Annotated[
    bool, typer.Option("--artifacts", help="Put the bytes of its artifacts into the file too.")
]


@command(app, "export")
def export(
    console: Console, run_id: options.RunId, target: Target, artifacts: Artifacts = False
) -> int:
    """Write a run to one file of JSON lines that can be read, verified and imported anywhere."""
    from agentctl.cli.drive import about
    from agentctl.cli.loading import open_existing
    from agentctl.cli.portable import human, portable_json
    from agentctl.store.portable import export_run

    engine = open_existing(console)
    try:
        about(console, engine, run_id)
        made = export_run(engine.store, run_id, target, artifacts=artifacts)
    finally:
        engine.close()
    console.result(
        "RunExport", portable_json(made, target), lambda: human(made, f"written to {target}")
    )
    return 0
