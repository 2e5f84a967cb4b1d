"""`agentctl verify`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from agentctl.cli.command import command, single
from agentctl.cli.console import Console

if TYPE_CHECKING:
    from agentctl.jsonvalue import JsonObject, JsonValue
    from agentctl.store.verify import Mismatch

app = single()

RunId = Annotated[
    str | None, typer.Argument(metavar="[RUN]", help="A run id.", show_default=False)
]
Everything = Annotated[
    bool, typer.Option("--all", help="Every run, and what the control plane keeps.")
]


@command(app, "verify")
def verify(console: Console, run_id: RunId = None, all: Everything = False) -> int:
    """Replay the journal against the machines and the digest chain; name what does not fit."""
    from agentctl.cli.loading import open_existing
    from agentctl.errors import StoreCorrupt, UsageError
    from agentctl.store.verify import verify_run

    if (run_id is None) != all:
        raise UsageError("give either a run id or --all")
    engine = open_existing(console)
    try:
        runs = [run_id] if run_id else [run.id for run in engine.store.list_runs()]
        found = [one for run in runs for one in verify_run(engine.store, run)]
        if all:
            from agentctl.store.verify_entities import verify_entities

            found += verify_entities(engine.store)
    finally:
        engine.close()
    listed: list[JsonValue] = [
        {
            "runId": one.run_id,
            "entity": one.entity,
            "sequence": one.sequence,
            "message": one.message,
        }
        for one in found
    ]
    data: JsonObject = {"valid": not found, "runs": len(runs), "mismatches": listed}
    console.result("VerifyResult", data, lambda: _human(len(runs), found))
    return StoreCorrupt.exit_code if found else 0


def _human(runs: int, found: list[Mismatch]) -> str:
    from agentctl.cli.paint import counted, visible

    if not found:
        return f"{counted(runs, 'run')}: every row fits"
    return "\n".join(
        visible(f"{_whose(one)}: {one.entity} {_place(one)}: {one.message}") for one in found
    )


def _whose(one: Mismatch) -> str:
    return f"run {one.run_id}" if one.run_id else "control plane"


def _place(one: Mismatch) -> str:
    return "record" if one.sequence is None else f"transition {one.sequence}"
