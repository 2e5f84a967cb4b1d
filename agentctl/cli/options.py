"""The parameters that several commands share, declared once.

Above: the command modules. Below: Typer.
"""

from __future__ import annotations

from typing import Annotated, Literal

import typer

File = Annotated[str, typer.Argument(metavar="FILE", help="A workflow file.", show_default=False)]
RunId = Annotated[str, typer.Argument(metavar="RUN", help="A run id.", show_default=False)]
GraphFormat = Literal["mermaid", "dot", "svg"]

InputsJson = Annotated[
    str | None, typer.Option("--inputs", metavar="JSON", help="All inputs as one JSON object.")
]
InputsFile = Annotated[
    str | None,
    typer.Option("--inputs-file", metavar="FILE", help="All inputs, from a JSON file."),
]
Inputs = Annotated[
    list[str] | None,
    typer.Option("--input", metavar="KEY=VALUE", help="One input: JSON if it parses, else text."),
]
VarsFiles = Annotated[
    list[str] | None,
    typer.Option(
        "--vars-file", metavar="FILE", help="Variables from a file, over the workflow's."
    ),
]
Vars = Annotated[
    list[str] | None,
    typer.Option("--var", metavar="KEY=JSON", help="One variable, over everything else."),
]
Workspace = Annotated[
    str | None,
    typer.Option(
        "--workspace",
        metavar="FOLDER",
        help="The folder that `policy.workspaceRoot` starts from. [default: the file's folder]",
    ),
]
RunWorkspace = Annotated[
    str | None,
    typer.Option("--workspace", metavar="FOLDER", help="[default: where the run was started]"),
]
TimeoutSeconds = Annotated[
    float | None,
    typer.Option("--timeout-seconds", metavar="SECONDS", help="Fail the run after this time."),
]
Interactive = Annotated[
    bool,
    typer.Option("--interactive", help="Ask for approvals on the terminal, and go on at once."),
]
RaiseBudgets = Annotated[
    list[str] | None,
    typer.Option(
        "--raise-budget",
        metavar="NAME=VALUE",
        help="Let a run that its budget stopped go on under a higher limit.",
    ),
]
Actor = Annotated[
    str | None, typer.Option("--actor", metavar="NAME", help="Who decides. [default: your login]")
]
Roots = Annotated[
    list[str] | None,
    typer.Option("--from", metavar="TASK", help="Begin here; may be given several times."),
]
PlanOnly = Annotated[
    bool, typer.Option("--plan", help="Only show what would be taken over and what would run.")
]
RestartSuccessful = Annotated[
    bool, typer.Option("--restart-successful", help="Let a named task that succeeded run again.")
]
Reason = Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why; kept in the journal.")]
WriteTo = Annotated[
    str | None, typer.Option("--write", metavar="FILE", help="Write to a file instead of showing.")
]
Approved = Annotated[
    bool,
    typer.Option(
        "--approved",
        help="You confirm the consequence, where the policy asks a person.",
        show_default=False,
    ),
]
