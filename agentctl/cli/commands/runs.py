"""`agentctl runs`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, cast

import typer

from agentctl.cli.command import command, single
from agentctl.cli.console import Console

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentctl.door import Engine
    from agentctl.jsonvalue import JsonObject, JsonValue

app = single()

States = Annotated[
    list[str] | None, typer.Option("--state", metavar="STATE", help="Only runs in this state.")
]
Workflow = Annotated[
    str | None, typer.Option("--workflow", metavar="NAME", help="Only runs of this workflow.")
]
OlderThan = Annotated[
    str | None,
    typer.Option(
        "--older-than", "--age", metavar="SPAN", help="Only runs created longer ago, as in 2h."
    ),
]
Limit = Annotated[int, typer.Option("--limit", metavar="COUNT", help="The latest so many.", min=1)]
Stuck = Annotated[
    bool, typer.Option("--stuck", help="Only runs that do not move, and why they do not.")
]


@command(app, "runs")
def runs(
    console: Console,
    state: States = None,
    workflow: Workflow = None,
    older_than: OlderThan = None,
    limit: Limit = 50,
    stuck: Stuck = False,
) -> int:
    """List runs, the latest first; with --stuck, what is not moving and why."""
    from agentctl.cli.given import run_states
    from agentctl.cli.loading import open_existing
    from agentctl.cli.spans import seconds

    states = run_states(state or ())
    age_seconds = None if older_than is None else seconds("--older-than", older_than)
    engine = open_existing(console)
    try:
        rows = _rows(engine, states, workflow, age_seconds, limit, stuck=stuck)
    finally:
        engine.close()
    listed: list[JsonValue] = [*rows]
    console.result("Runs", listed, lambda: _table(rows, stuck=stuck))
    return 0


def _rows(
    engine: Engine,
    states: Sequence[str],
    workflow: str | None,
    age_seconds: float | None,
    limit: int,
    *,
    stuck: bool,
) -> list[JsonObject]:
    from agentctl.cli.holding import is_alive
    from agentctl.clock import SystemClock
    from agentctl.engine.stillness import stillness
    from agentctl.engine.view import run_row, task_counts
    from agentctl.machines.sets import RUN_FINAL

    now = SystemClock().now()
    before = now if age_seconds is None else now - int(age_seconds * 1_000_000)
    rows: list[JsonObject] = []
    # Which runs stand still is known only after a look at each.
    wanted = engine.store.list_runs(
        states=states,
        workflow=workflow,
        created_before=before,
        limit=None if stuck else limit,
    )
    for run in wanted:
        if stuck and run.state in RUN_FINAL:
            continue
        history = engine.history(run.id)
        holder = engine.store.holder(run.id)
        still = stillness(history, is_held=is_alive(holder), now=now)
        if stuck and still is None:
            continue
        key = engine.store.start_key_of(run.id)
        counts = task_counts(history)
        row = run_row(run, now, counts=counts, holder=holder, start_key=key)
        rows.append({**row, "stillness": still.as_json() if still else None})
        if len(rows) == limit:
            break
    return rows


def _table(rows: list[JsonObject], *, stuck: bool) -> str:
    from agentctl.cli.paint import duration, table

    if not rows:
        return "nothing stands still" if stuck else "no runs"
    cells = []
    for row in rows:
        counts = cast("dict[str, int]", row["tasks"])
        listed = ", ".join(f"{count} {state}" for state, count in counts.items())
        still = cast("dict[str, str] | None", row["stillness"])
        last = f"{still['reason']}; {still['next']}" if stuck and still else listed
        age = duration(cast("float", row["ageSeconds"]))
        key = f" (key {row['startKey']})" if row["startKey"] else ""
        cells.append((str(row["runId"]), str(row["state"]), age, f"{row['workflow']}{key}", last))
    last_head = "why, and what to do" if stuck else "tasks"
    return table(("run", "state", "age", "workflow", last_head), cells)
