"""Records as statements: one row each, inserted when new, else by compare-and-set.

Above: the journal. Below: SQLite.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from agentctl.engine.records import (
    ApprovalRecord,
    ArtifactRecord,
    CompensationRecord,
    EffectRecord,
    IterationRecord,
    ReconciliationRecord,
    RunRecord,
    TaskRecord,
)
from agentctl.errors import StaleVersion
from agentctl.jsonvalue import canonical
from agentctl.machines.sets import EFFECT_FINAL
from agentctl.store.rows import first_key, packed_or_null, text_or_null
from agentctl.store.statements import SQL

if TYPE_CHECKING:
    import sqlite3

    from agentctl.engine.apply import Change, Work

Statement: TypeAlias = "tuple[str, tuple[object, ...]]"

_UPDATE_TASK = SQL["update_task"]
_UPDATE_EFFECT = SQL["update_effect"]
_INSERT_EFFECT = SQL["insert_effect"]


def write_change(connection: sqlite3.Connection, number: int, change: Change) -> None:
    """Write one record of a commit. Raises StaleVersion when it changed since it was read."""
    record = change.record
    sql, values = _STATEMENTS[type(record)](number, change)
    if connection.execute(sql, values).rowcount != 1:
        raise StaleVersion(
            f"{record.machine} {record.entity!r} changed since it was read; nothing was written"
        )


def write_late_reports(
    connection: sqlite3.Connection, number: int, token: int, work: Work
) -> None:
    """Keep how effects ended by a unit of work that came too late to be written."""
    connection.executemany(
        SQL["insert_late_report"],
        [
            (
                number,
                effect.name,
                token,
                effect.dispatch,
                effect.state,
                text_or_null(effect.result),
                text_or_null(effect.error),
                effect.ended_at,
            )
            for effect in (change.record for change in work.changes.values())
            if isinstance(effect, EffectRecord) and effect.state in EFFECT_FINAL
        ],
    )


def _run(number: int, change: Change) -> Statement:
    run = change.record
    assert isinstance(run, RunRecord)
    values = (
        run.state,
        run.version,
        run.ended_at,
        text_or_null(run.output),
        text_or_null(run.error),
        text_or_null(run.raised_budgets),
        number,
        change.base,
    )
    return SQL["update_run"], values


def _task(number: int, change: Change) -> Statement:
    task = change.record
    assert isinstance(task, TaskRecord)
    values = (
        task.state,
        task.version,
        task.attempt,
        task.disposition,
        task.started_at,
        task.ended_at,
        task.due_at,
        packed_or_null(task.output),
        text_or_null(task.error),
        packed_or_null(task.snapshot),
        first_key(number) + task.position,
        change.base,
    )
    return _UPDATE_TASK, values


def _effect(number: int, change: Change) -> Statement:
    effect = change.record
    assert isinstance(effect, EffectRecord)
    if change.base is None:
        return (
            _INSERT_EFFECT,
            (
                first_key(number) + effect.number,
                effect.position,
                effect.attempt,
                effect.ordinal,
                bytes.fromhex(effect.id),
                effect.operation,
                effect.effect_class,
                effect.risk,
                effect.idempotency,
                canonical(effect.input),
                bytes.fromhex(effect.input_digest),
                bytes.fromhex(effect.key_digest),
                effect.state,
                effect.version,
                effect.dispatch,
                effect.requested_at,
                effect.started_at,
                effect.ended_at,
                text_or_null(effect.result),
                text_or_null(effect.error),
            ),
        )
    values = (
        effect.state,
        effect.version,
        effect.dispatch,
        effect.started_at,
        effect.ended_at,
        text_or_null(effect.result),
        text_or_null(effect.error),
        first_key(number) + effect.number,
        change.base,
    )
    return _UPDATE_EFFECT, values


def _iteration(number: int, change: Change) -> Statement:
    one = change.record
    assert isinstance(one, IterationRecord)
    if change.base is None:
        values = (number, one.id, one.parent, one.index, one.state, one.version)
        return SQL["insert_iteration"], values
    moved = (one.state, one.version, number, one.id, change.base)
    return SQL["update_iteration"], moved


def _approval(number: int, change: Change) -> Statement:
    one = change.record
    assert isinstance(one, ApprovalRecord)
    if change.base is None:
        asked = (one.id, number, one.task_id, one.effect_id, one.request_digest, one.summary)
        stands = (one.state, one.version, one.requested_at, one.expires_at)
        decided = (one.decided_at, one.actor, one.reason)
        return SQL["insert_approval"], asked + stands + decided
    moved = (one.state, one.version, one.decided_at, one.actor, one.reason, one.id, change.base)
    return SQL["update_approval"], moved


def _reconciliation(number: int, change: Change) -> Statement:
    one = change.record
    assert isinstance(one, ReconciliationRecord)
    found = (
        one.decided_at,
        one.actor,
        one.reason,
        text_or_null(one.evidence),
        text_or_null(one.result),
        one.compensation_effect,
        text_or_null(one.spent),
    )
    stands = (one.state, one.version)
    if change.base is None:
        named = (number, one.effect_name, one.effect_id)
        return SQL["insert_reconciliation"], (*named, *stands, one.opened_at, *found)
    moved = (*stands, *found, number, one.effect_name, change.base)
    return SQL["update_reconciliation"], moved


def _compensation(number: int, change: Change) -> Statement:
    one = change.record
    assert isinstance(one, CompensationRecord)
    if change.base is None:
        named = (number, one.effect_name, one.effect_id, one.task_id)
        return SQL["insert_compensation"], (*named, one.state, one.version)
    moved = (one.state, one.version, number, one.effect_name, change.base)
    return SQL["update_compensation"], moved


def _artifact(number: int, change: Change) -> Statement:
    one = change.record
    assert isinstance(one, ArtifactRecord)
    key = first_key(number) + one.number
    if change.base is None:
        kept = (bytes.fromhex(one.digest), one.size_bytes, one.logical_path, one.media_type)
        stands = (one.state, one.version, one.created_at)
        return SQL["insert_artifact"], (key, one.name, one.task_id, *kept, *stands)
    moved = (one.state, one.version, key, change.base)
    return SQL["update_artifact"], moved


_STATEMENTS = {
    RunRecord: _run,
    TaskRecord: _task,
    EffectRecord: _effect,
    IterationRecord: _iteration,
    ApprovalRecord: _approval,
    ReconciliationRecord: _reconciliation,
    CompensationRecord: _compensation,
    ArtifactRecord: _artifact,
}
