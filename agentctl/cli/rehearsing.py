"""Whether a workflow would still produce a recorded history, for people and for CI.

Above: `replay --against`. Below: the engine's rehearsal and the store's portable runs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentctl.cli.paint import counted, visible
from agentctl.engine.recovery.changes import tell

if TYPE_CHECKING:
    from agentctl.cli.console import Console
    from agentctl.door import Engine
    from agentctl.engine.recovery.divergence import Divergence, Rehearsal
    from agentctl.jsonvalue import JsonObject
    from agentctl.store.sqlite import SqliteStore

_WORDS = {
    "inserted": "is new: the record does not have it",
    "removed": "is gone: only the record has it",
    "definition": "was taken over by the run, and is defined otherwise now",
    "request": "asks for something else",
    "approval": "is not asked about as it was",
    "outcome": "ends otherwise",
    "run": "ends otherwise",
}


def rehearse_run(console: Console, run_id: str, against: str, workspace: str | None) -> int:
    """Compare a stored run; leave with 0 when the history would be the same."""
    from agentctl.cli.drive import about
    from agentctl.cli.loading import open_existing

    engine = open_existing(console)
    try:
        about(console, engine, run_id)
        return _show(console, engine, engine.store, run_id, against, workspace)
    finally:
        engine.close()


def rehearse_export(console: Console, file: str, against: str, workspace: str | None) -> int:
    """Compare an exported run, without any database."""
    from agentctl.cli.loading import open_engine
    from agentctl.store.portable import opened

    with opened(file) as (store, portable):
        console.run_id = portable.run_id
        return _show(console, open_engine(console), store, portable.run_id, against, workspace)


def _show(
    console: Console,
    engine: Engine,
    store: SqliteStore,
    run_id: str,
    against: str,
    workspace: str | None,
) -> int:
    from pathlib import Path

    from agentctl.cli.loading import base_folder
    from agentctl.comparing import rehearse_stored

    variables = store.load_run(run_id).run.vars
    base = base_folder(against, workspace)
    loaded = engine.load(Path(against), workspace=base, variables=variables)
    found = rehearse_stored(store, run_id, loaded)
    return _report(console, found, against)


def _report(console: Console, found: Rehearsal, against: str) -> int:
    from agentctl.errors import HistoryDiffers

    if console.is_human:
        console.text(_human(found, against))
        return 0 if found.is_same else HistoryDiffers.exit_code
    body: JsonObject = {"kind": "ReplayComparison", "data": {**found.to_json(), "file": against}}
    if not found.is_same:
        body["error"] = {
            "code": HistoryDiffers.code,
            "exitCode": HistoryDiffers.exit_code,
            "message": _told(found.found[0]),
            "runId": console.run_id,
            "traceId": console.trace_id,
        }
    console.document(body)
    return 0 if found.is_same else HistoryDiffers.exit_code


def _told(one: Divergence) -> str:
    """Return one difference as a line."""
    who = f"task {one.task_id}" if one.task_id else "the run"
    details = "; ".join(map(tell, one.differences))
    return f"{who} {_WORDS[one.what]}{f': {details}' if details else ''}"


def _human(found: Rehearsal, against: str) -> str:
    run_id = found.source.run.id
    if found.is_same:
        return visible(
            f"{against} still produces the history of run {run_id}: "
            f"{counted(found.compared, 'task')} and {counted(found.answered, 'effect')} fit"
        )
    first, *rest = found.found
    lines = [f"{against} would not produce the history of run {run_id}"]
    lines.append(f"first difference: {_told(first)}")
    if rest:
        lines.append(f"others: {', '.join(one.task_id for one in rest)}")
    return "\n".join(map(visible, lines))
