"""A run for people: what it is, what happened to each task, and what to do next.

Above: `inspect`. Below: the view and records.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, cast

from agentctl.cli.migrated import told
from agentctl.cli.paint import duration, facts, paint, table, visible
from agentctl.cli.tones import tone
from agentctl.clock import iso
from agentctl.engine.view import task_ids

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agentctl.engine.records import RunHistory, TaskRecord
    from agentctl.engine.stillness import Stillness
    from agentctl.jsonvalue import JsonObject, JsonValue


def human(
    history: RunHistory,
    still: Stillness | None,
    view: JsonObject,
    *,
    colour: bool,
    verbose: bool,
) -> str:
    """Return the summary; `verbose` adds the whole journal."""
    run = history.run
    parts = [
        f"run {run.id} {paint(run.state, tone(run.state), on=colour)}",
        facts(_about(history, cast("JsonObject", view["run"]))),
        _lineage(history),
        _migration(cast("JsonObject", view["run"])),
        _tasks(history.tasks, colour=colour),
        _problems(history),
        _effects(history),
    ]
    if still is not None:
        parts.append(f"it stands still: {visible(still.reason)}\n  {visible(still.next_step)}")
    if run.output not in (None, {}):
        parts.append("output\n" + _pretty(run.output))
    if verbose:
        parts.append(_journal(cast("list[JsonObject]", view["audit"])))
    return "\n\n".join(part for part in parts if part)


def _about(history: RunHistory, shown: JsonObject) -> Iterable[tuple[str, str]]:
    run = history.run
    yield "workflow", run.workflow_name
    yield "mode", run.mode
    if shown["startKey"]:
        yield "start key", str(shown["startKey"])
    yield "created", iso(run.created_at)
    if run.ended_at is not None:
        took = duration((run.ended_at - run.created_at) / 1_000_000)
        yield "ended", f"{iso(run.ended_at)} (after {took})"
    yield "workspace", run.workspace
    yield "trace", run.trace_id
    holder = shown.get("holder")
    if isinstance(holder, dict):
        gone = " (gone)" if holder.get("alive") is False else ""
        where = f"pid {holder.get('pid')} on {holder.get('host')}"
        yield "owner", f"{where} since {holder.get('since')}{gone}"


def _lineage(history: RunHistory) -> str:
    """Return where a derived run comes from, and which tasks it reused and executed."""
    if history.run.source_run_id is None:
        return ""
    return "\n".join(
        (
            f"source={history.run.source_run_id}",
            "reused=" + ",".join(task_ids(history, "reused")),
            "executed=" + ",".join(task_ids(history, "executed")),
        )
    )


def _migration(shown: JsonObject) -> str:
    found = shown["memoryMigration"]
    return told(found) if isinstance(found, dict) else ""


def _tasks(tasks: Iterable[TaskRecord], *, colour: bool) -> str:
    rows = []
    for task in sorted(tasks, key=lambda one: one.position):
        took = ""
        if task.started_at is not None and task.ended_at is not None:
            took = duration((task.ended_at - task.started_at) / 1_000_000)
        rows.append((task.id, task.state, str(task.attempt), took, _note(task)))
    text = table(("task", "state", "attempt", "time", ""), rows)
    if not colour:
        return text
    head, *lines = text.splitlines()
    painted = [paint(line, tone(row[1]), on=True) for line, row in zip(lines, rows, strict=True)]
    return "\n".join([head, *painted])


def _note(task: TaskRecord) -> str:
    for value in (task.error, task.output):
        if isinstance(value, dict):
            told = value.get("message") if value is task.error else value.get("reason")
            if isinstance(told, str):
                return told[:100]
    return ""


def _problems(history: RunHistory) -> str:
    error = history.run.error
    if not isinstance(error, dict):
        return ""
    return "error: " + visible(str(error.get("message")))


def _effects(history: RunHistory) -> str:
    if not history.effects:
        return ""
    rows = [
        (one.id[:16], one.task_id, one.operation, one.state, str(one.dispatch))
        for one in history.effects
    ]
    return table(("effect", "task", "operation", "state", "dispatches"), rows)


def _journal(audit: list[JsonObject]) -> str:
    keys = ("sequence", "at", "eventType", "entity")
    rows = []
    for one in audit:
        payload = cast("JsonObject", one["payload"])
        move = f"{payload['from']} -> {payload['to']}"
        rows.append((*(str(one[key]) for key in keys), move))
    return table(("#", "at", "event", "of", "move"), rows)


def _pretty(value: JsonValue) -> str:
    text = json.dumps(value, ensure_ascii=False, indent=2)
    return "\n".join(visible(line) for line in text.splitlines())
