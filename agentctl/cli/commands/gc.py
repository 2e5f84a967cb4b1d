"""`agentctl gc`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from agentctl.cli.command import command, single
from agentctl.cli.console import Console

if TYPE_CHECKING:
    from agentctl.clock import Instant
    from agentctl.jsonvalue import JsonObject, JsonValue
    from agentctl.machines.names import RunState
    from agentctl.store.retention import OverRun, Removal, Selection

app = single()

States = Annotated[
    list[str] | None,
    typer.Option("--state", metavar="STATE", help="Runs that ended in this state."),
]
OlderThan = Annotated[
    str | None,
    typer.Option("--older-than", metavar="SPAN", help="Runs that ended longer ago, as in 30d."),
]
Keep = Annotated[
    int | None,
    typer.Option("--keep", metavar="COUNT", help="All but the latest so many.", min=0),
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only show what would be removed.")]

_NEEDS = {
    "held": "a live process has it",
    "uncertain_effect": "an effect may have happened; `agentctl reconcile` first",
    "being_compensated": "a compensation of it is under way",
}


@command(app, "gc")
def gc(
    console: Console,
    older_than: OlderThan = None,
    state: States = None,
    keep: Keep = None,
    dry_run: DryRun = False,
) -> int:
    """Remove runs that are over, and everything that nothing refers to; by itself only the latter.

    A run goes when it fits every option that is given. Runs that are not over always stay.
    """
    from agentctl.cli.given import run_states
    from agentctl.cli.loading import open_existing
    from agentctl.cli.spans import seconds
    from agentctl.store.retention import collect_runs

    states = None if state is None else run_states(state, operation="gc")
    age = None if older_than is None else seconds("--older-than", older_than)
    engine = open_existing(console)
    try:
        now = engine.store.clock.now()
        selection = _selection(states, age, keep, now)
        found = collect_runs(engine.store, selection, now, plan=dry_run)
    finally:
        engine.close()
    console.result("Collection", _data(found, dry_run), lambda: _human(found, dry_run))
    return 0


def _selection(
    states: list[RunState] | None, age_seconds: float | None, keep: int | None, now: Instant
) -> Selection | None:
    if states is None and age_seconds is None and keep is None:
        return None
    from agentctl.machines.sets import RUN_FINAL
    from agentctl.store.retention import Selection

    return Selection(
        states=RUN_FINAL if states is None else states,
        ended_before=None if age_seconds is None else now - int(age_seconds * 1_000_000),
        keep=keep or 0,
    )


def _data(found: Removal, dry_run: bool) -> JsonObject:
    runs: list[JsonValue] = [_run(one) for one in found.runs]
    kept: list[JsonValue] = [{**_run(one), "reason": one.need} for one in found.needed]
    documents: list[JsonValue] = [
        {"digest": one.digest, "kind": one.kind, "sizeBytes": one.size_bytes}
        for one in found.documents
    ]
    blobs: list[JsonValue] = [
        {"digest": digest, "sizeBytes": size} for digest, size in found.artifacts.blobs
    ]
    return {
        "dryRun": dry_run,
        "runs": runs,
        "kept": kept,
        "documents": documents,
        "artifacts": blobs,
        "leftovers": found.artifacts.leftovers,
        "freedBytes": found.freed_bytes,
    }


def _run(one: OverRun) -> JsonObject:
    from agentctl.clock import iso

    return {
        "runId": one.id,
        "workflow": one.workflow,
        "state": one.state,
        "endedAt": iso(one.ended_at),
    }


def _human(found: Removal, dry_run: bool) -> str:
    from agentctl.cli.paint import counted, size, table, visible

    verb = "would remove" if dry_run else "removed"
    parts = []
    if found.runs:
        rows = [(one.id, one.state, visible(one.workflow)) for one in found.runs]
        parts.append(table(("run", "state", "workflow"), rows))
    parts += [f"{one.id} stays: {_NEEDS[one.need or 'held']}" for one in found.needed]
    parts += [f"{one.kind} {one.digest} has no run" for one in found.documents]
    parts += [f"artifact {digest} has no run" for digest, _ in found.artifacts.blobs]
    counts = (
        counted(len(found.runs), "run"),
        counted(len(found.documents), "document"),
        counted(len(found.artifacts.blobs), "artifact"),
    )
    parts.append(f"{verb} {', '.join(counts)}; {size(found.freed_bytes)} of files")
    return "\n".join(parts)
