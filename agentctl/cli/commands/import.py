"""`agentctl import`."""  # noqa: N999  (the name of the command)

from __future__ import annotations

from typing import Annotated

import typer

from agentctl.cli.command import command, single
from agentctl.cli.console import Console

app = single()

Source = Annotated[
    str, typer.Argument(metavar="FILE", help="An exported run.", show_default=False)
]


@command(app, "import")
def import_(console: Console, source: Source) -> int:
    """Take an exported run that is over into the database, after verifying all of it."""
    from agentctl.cli.loading import open_engine
    from agentctl.cli.portable import human, portable_json
    from agentctl.store.portable import import_run

    engine = open_engine(console)
    try:
        taken = import_run(engine.store, source)
    finally:
        engine.close()
    console.result(
        "RunImport", portable_json(taken, source), lambda: human(taken, f"taken from {source}")
    )
    return 0
