"""`agentctl requests`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from agentctl.cli import options
from agentctl.cli.command import command, make
from agentctl.cli.console import Console

if TYPE_CHECKING:
    from agentctl.jsonvalue import JsonObject, JsonValue

app = make("requests", "List and answer what agents ask people, and judge what they hand in.")

RequestId = Annotated[
    str,
    typer.Argument(metavar="REQUEST", help="Id of a request or review.", show_default=False),
]
Everything = Annotated[bool, typer.Option("--all", help="Also those that were answered.")]
Answer = Annotated[
    str | None,
    typer.Option("--answer", metavar="VALUE", help="The answer: JSON if it parses, else text."),
]
Decline = Annotated[bool, typer.Option("--decline", help="Say no, or send the work back.")]


@command(app, "list")
def show(console: Console, all: Everything = False) -> int:
    """List the questions and reviews that wait for a person."""
    from agentctl.cli.loading import open_existing

    engine = open_existing(console)
    try:
        rows = engine.requests(all=all)
    finally:
        engine.close()
    listed: list[JsonValue] = [*rows]
    console.result("Requests", listed, lambda: _table(rows))
    return 0


@command(app, "answer")
def answer(
    console: Console,
    request_id: RequestId,
    answer: Answer = None,
    decline: Decline = False,
    reason: options.Reason = "",
    actor: options.Actor = None,
) -> int:
    """Answer a question or judge a review; `agentctl resume` then goes on with the answer."""
    from agentctl.cli.drive import login
    from agentctl.cli.given import json_or_text
    from agentctl.cli.loading import open_existing

    engine = open_existing(console)
    try:
        data = engine.answer_request(
            request_id,
            accepted=not decline,
            actor=actor or login(),
            answer=None if answer is None else json_or_text(answer, "--answer"),
            reason=reason,
        )
    finally:
        engine.close()
    told = f"{request_id} {data['state']}\n  `agentctl resume {data['runId']}` goes on"
    console.result("Request", data, lambda: told)
    return 0


def _table(rows: list[JsonObject]) -> str:
    from agentctl.cli.paint import table

    if not rows:
        return "nobody waits for an answer"
    cells = [
        [
            str(row["requestId"]),
            str(row["runId"]),
            str(row["taskId"]),
            str(row["state"]),
            str(row.get("prompt") or row.get("summary")),
        ]
        for row in rows
    ]
    return table(("request", "run", "task", "state", "asks"), cells)
