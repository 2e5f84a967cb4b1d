"""Records as rows and back; states are checked on the way in.

Above: the journal and the store. Below: `engine.records`. JSON columns hold canonical text,
digests are blobs, and NULL stands for what is absent.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Any, Final, cast

from agentctl.engine.records import (
    ApprovalRecord,
    ArtifactRecord,
    CompensationRecord,
    EffectRecord,
    IterationRecord,
    LateReport,
    ReconciliationRecord,
    RunRecord,
    StreamEvent,
    TaskRecord,
    Transition,
    effect_name,
)
from agentctl.errors import StoreCorrupt
from agentctl.jsonvalue import canonical, load_stored
from agentctl.machines.compiled import TABLES

if TYPE_CHECKING:
    import sqlite3

    from agentctl.jsonvalue import JsonObject, JsonValue

# Less than this hardly ever takes fewer pages when it is compressed.
PACKED_CHARACTERS_MIN: Final = 512
_PACKING_LEVEL: Final = 1
_RESTORE = "restore a backup, or open the file with the agentctl that wrote it"


def first_key(number: int) -> int:
    """Return where the rows of a run begin; a row's place in the run is added to it."""
    return number << 32


def text_or_null(value: JsonValue) -> str | None:
    """Return canonical text, or NULL for null."""
    return None if value is None else canonical(value)


def packed(value: JsonValue) -> str | bytes:
    """Return canonical text, or its compressed bytes where those take less room.

    What a task wrote to working memory is in its output twice and in memory once more, so long
    values are worth it.
    """
    text = canonical(value)
    if len(text) < PACKED_CHARACTERS_MIN:
        return text
    body = zlib.compress(text.encode("utf-8", "surrogatepass"), _PACKING_LEVEL)
    return body if len(body) < len(text) else text


def packed_or_null(value: JsonValue) -> str | bytes | None:
    """Return what `packed` does, or NULL for null."""
    return None if value is None else packed(value)


def unpacked(stored: str | bytes) -> JsonValue:
    """Read what `packed` made. Raises StoreCorrupt."""
    if isinstance(stored, str):
        return read_json(stored)
    try:
        return read_json(zlib.decompress(stored).decode("utf-8", "surrogatepass"))
    except (zlib.error, UnicodeDecodeError) as error:
        raise StoreCorrupt(f"a stored value is damaged: {error}", help=_RESTORE) from error


def unpacked_or_none(stored: str | bytes | None) -> JsonValue:
    """Read a packed column that may be NULL. Raises StoreCorrupt."""
    return None if stored is None else unpacked(stored)


def read_json(text: str | bytes) -> JsonValue:
    """Read the text of a JSON column. Raises StoreCorrupt."""
    try:
        return load_stored(text)
    except ValueError as error:
        raise StoreCorrupt(f"a stored value is not JSON: {error}", help=_RESTORE) from error


def json_or_none(text: str | None) -> JsonValue:
    """Read a JSON column that may be NULL. Raises StoreCorrupt."""
    return None if text is None else read_json(text)


def run_from(row: sqlite3.Row) -> RunRecord:
    """Read one run."""
    return RunRecord(
        id=row["id"],
        state=_state("run", row),
        version=row["version"],
        mode=row["mode"],
        workflow_name=row["workflow_name"],
        workflow_digest=row["workflow_digest"],
        plan_digest=row["plan_digest"],
        source_run_id=row["source_run_id"],
        trace_id=row["trace_id"],
        workspace=row["workspace"],
        folder=row["folder"] or "",
        file=row["file"] or "",
        inputs=cast("JsonObject", read_json(row["inputs"])),
        vars=cast("JsonObject", read_json(row["vars"])),
        created_at=row["created_at"],
        ended_at=row["ended_at"],
        output=json_or_none(row["output"]),
        error=json_or_none(row["error"]),
        raised_budgets=cast("JsonObject | None", json_or_none(row["raised_budgets"])),
    )


def task_from(row: sqlite3.Row) -> TaskRecord:
    """Read one task."""
    return TaskRecord(
        id=row["id"],
        position=row["position"],
        state=_state("task", row),
        version=row["version"],
        attempt=row["attempt"],
        disposition=row["disposition"],
        started_at=row["started_at"],
        ended_at=row["ended_at"],
        due_at=row["due_at"],
        output=unpacked_or_none(row["output"]),
        error=json_or_none(row["error"]),
        snapshot=unpacked_or_none(row["snapshot"]),
    )


def effect_from(row: sqlite3.Row) -> EffectRecord:
    """Read one line of the ledger."""
    return EffectRecord(
        id=row["id"].hex(),
        name=effect_name(row["task_id"], row["attempt"], row["ordinal"]),
        task_id=row["task_id"],
        number=row["number"],
        position=row["position"],
        attempt=row["attempt"],
        ordinal=row["ordinal"],
        operation=row["operation"],
        effect_class=row["effect_class"],
        risk=row["risk"],
        idempotency=row["idempotency"],
        input=read_json(row["input"]),
        input_digest=row["input_digest"].hex(),
        key_digest=row["key_digest"].hex(),
        state=_state("effect", row),
        version=row["version"],
        dispatch=row["dispatch"],
        requested_at=row["requested_at"],
        started_at=row["started_at"],
        ended_at=row["ended_at"],
        result=json_or_none(row["result"]),
        error=json_or_none(row["error"]),
    )


def iteration_from(row: sqlite3.Row) -> IterationRecord:
    """Read one turn of a loop."""
    return IterationRecord(
        id=row["id"],
        parent=row["parent"],
        index=row["position"],
        state=_state("iteration", row),
        version=row["version"],
    )


def approval_from(row: sqlite3.Row) -> ApprovalRecord:
    """Read one question."""
    return ApprovalRecord(
        id=row["id"],
        task_id=row["task_id"],
        effect_id=row["effect_id"],
        request_digest=row["request_digest"],
        summary=row["summary"],
        state=_state("approval", row),
        version=row["version"],
        requested_at=row["requested_at"],
        expires_at=row["expires_at"],
        decided_at=row["decided_at"],
        actor=row["actor"],
        reason=row["reason"],
    )


def reconciliation_from(row: sqlite3.Row) -> ReconciliationRecord:
    """Read what was found out about one effect."""
    return ReconciliationRecord(
        effect_name=row["effect_name"],
        effect_id=row["effect_id"],
        state=_state("reconciliation", row, "effect_name"),
        version=row["version"],
        opened_at=row["opened_at"],
        decided_at=row["decided_at"],
        actor=row["actor"],
        reason=row["reason"],
        evidence=json_or_none(row["evidence"]),
        result=json_or_none(row["result"]),
        compensation_effect=row["compensation_effect"],
        spent=cast("JsonObject | None", json_or_none(row["spent"])),
    )


def compensation_from(row: sqlite3.Row) -> CompensationRecord:
    """Read what a compensation did about one effect."""
    return CompensationRecord(
        effect_name=row["effect_name"],
        effect_id=row["effect_id"],
        task_id=row["task_id"],
        state=_state("compensation", row, "effect_name"),
        version=row["version"],
    )


def artifact_from(row: sqlite3.Row) -> ArtifactRecord:
    """Read one reference."""
    return ArtifactRecord(
        name=row["name"],
        number=row["number"],
        task_id=row["task_id"],
        digest=row["digest"].hex(),
        size_bytes=row["size_bytes"],
        logical_path=row["logical_path"],
        media_type=row["media_type"],
        state=_state("artifact", row, "name"),
        version=row["version"],
        created_at=row["created_at"],
    )


def late_report_from(row: sqlite3.Row) -> LateReport:
    """Read what came too late."""
    return LateReport(
        effect_name=row["effect_name"],
        token=row["token"],
        dispatch=row["dispatch"],
        state=row["state"],
        result=json_or_none(row["result"]),
        error=json_or_none(row["error"]),
        at=row["at"],
    )


def transition_from(row: sqlite3.Row, detail: JsonValue) -> Transition:
    """Read one move; its detail is read apart, since not everybody needs it."""
    return Transition(
        machine=row["machine"],
        entity=row["entity"],
        version=row["version"],
        event=row["event"],
        source=row["source"],
        target=row["target"],
        at=row["at"],
        actor=row["actor"],
        detail=detail,
    )


def stream_event_from(row: sqlite3.Row) -> StreamEvent:
    """Read one progress record."""
    return StreamEvent(
        number=row["number"],
        after=row["after"],
        provider_sequence=row["provider_sequence"],
        task_id=row["task_id"],
        attempt=row["attempt"],
        sequence=row["sequence"],
        effect_id=row["effect_id"],
        event_type=row["event_type"],
        payload=read_json(row["payload"]),
        truncated=bool(row["truncated"]),
        at=row["at"],
    )


def _state(machine: str, row: sqlite3.Row, name: str = "id") -> Any:
    state = row["state"]
    if state not in TABLES[machine].rows:  # type: ignore[index]
        raise StoreCorrupt(
            f"{machine} {row[name]!r} has the state {state!r}, which the machine does not know",
            help=_RESTORE,
        )
    return state
