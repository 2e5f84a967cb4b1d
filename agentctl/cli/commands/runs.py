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
    from agentctl.cli.loading import open_engine
    from agentctl.cli.spans import seconds

    states = _known_states(state or ())
    age_seconds = None if older_than is None else seconds("--older-than", older_than)
    engine = open_engine(console)
    try:
        rows = _rows(engine, states, workflow, age_seconds, limit, stuck=stuck)
    finally:
        engine.close()
    listed: list[JsonValue] = [*rows]
    console.result("Runs", listed, lambda: _table(rows, stuck=stuck))
    return 0


def _known_states(asked: Sequence[str]) -> list[str]:
    from agentctl.errors import UsageError
    from agentctl.machines.compiled import RUN
    from agentctl.suggest import did_you_mean

    states = [one for text in asked for one in text.split(",") if one]
    for one in states:
        if one not in RUN.states:
            raise UsageError(f"no run state {one!r}", help=did_you_mean(one, RUN.states))
    return states


def _rows(
    engine: Engine,
    states: list[str],
    workflow: str | None,
    age_seconds: float | None,
    limit: int,
    *,
    stuck: bool,
) -> list[JsonObject]:
    from agentctl.clock import SystemClock
    from agentctl.engine.view import run_row
    from agentctl.machines.sets import RUN_LIVE

    now = SystemClock().now()
    before = None if age_seconds is None else now - int(age_seconds * 1_000_000)
    wanted = states or (sorted(RUN_LIVE) if stuck else None)
    rows: list[JsonObject] = []
    for one in engine.store.list_runs(
        states=wanted, workflow=workflow, created_before=before, limit=None if stuck else limit
    ):
        row = run_row(one.run, now, counts=one.tasks, holder=one.holder)
        if stuck and not _add_reason(engine, row, now):
            continue
        rows.append(row)
        if len(rows) == limit:
            break
    return rows


def _add_reason(engine: Engine, row: JsonObject, now: int) -> bool:
    """Say in the row why the run stands still; False when it moves."""
    from agentctl.engine.stillness import stillness

    history = engine.history(cast("str", row["runId"]))
    still = stillness(history, is_held=row["holder"] is not None, now=now)
    row["stillness"] = still.as_json() if still else None
    return still is not None


def _table(rows: list[JsonObject], *, stuck: bool) -> str:
    from agentctl.cli.paint import duration, table

    if not rows:
        return "nothing stands still" if stuck else "no runs"
    cells = []
    for row in rows:
        counts = cast("dict[str, int]", row["tasks"])
        listed = ", ".join(f"{count} {state}" for state, count in counts.items())
        still = cast("dict[str, str]", row.get("stillness") or {})
        last = f"{still['reason']}; {still['next']}" if still else listed
        age = duration(float(cast("int", row["ageSeconds"])))
        cells.append((str(row["runId"]), str(row["state"]), age, str(row["workflow"]), last))
    last_head = "why, and what to do" if stuck else "tasks"
    return table(("run", "state", "age", "workflow", last_head), cells)
