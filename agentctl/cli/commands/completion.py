"""`agentctl completion`."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from agentctl.cli.command import command, single
from agentctl.cli.console import Console

app = single()

Shell = Annotated[
    Literal["bash", "zsh", "fish"],
    typer.Argument(metavar="SHELL", help="bash, zsh or fish.", show_default=False),
]


@command(app, "completion")
def completion(console: Console, shell: Shell) -> int:
    """Print a script that teaches a shell to complete agentctl's commands and options."""
    from typer import completion as typers

    script: str = vars(typers)["get_completion_script"](
        prog_name="agentctl", complete_var="_AGENTCTL_COMPLETE", shell=shell
    )
    data = {"shell": shell, "script": script}
    console.result("Completion", {**data}, lambda: script)
    return 0
