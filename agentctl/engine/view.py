"""What a run looks like from outside: the JSON of `inspect` and the rows of `runs`.

Above: the CLI and embedders. Below: records and the journal. Pure: the same history gives the
same view; it reads no store and no clock.
Source: specification, section 13 (inspect).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from agentctl.clock import iso
from agentctl.engine.budget_view import budget_view
from agentctl.engine.compensation_view import compensation_view
from agentctl.engine.recovery.memory import migration_view
from agentctl.jsonvalue import digest_text
from agentctl.machines.compiled import EFFECT, RUN, TASK
from agentctl.machines.names import ApprovalStates
from agentctl.machines.sets import TASK_FINAL

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from agentctl.clock import Instant
    from agentctl.engine.plan import Plan
    from agentctl.engine.records import (
        ApprovalRecord,
        ArtifactRecord,
        EffectRecord,
        LateReport,
        ReconciliationRecord,
        RunHistory,
        RunRecord,
        StreamEvent,
        TaskRecord,
        Transition,
    )
    from agentctl.jsonvalue import JsonObject, JsonValue


def inspect_view(
    history: RunHistory,
    journal: Sequence[tuple[int, Transition]],
    *,
    stream: Iterable[StreamEvent] = (),
    holder: JsonObject | None = None,
    start_key: str | None = None,
) -> JsonObject:
    """Return everything stored about a run, as `agentctl inspect` shows it.

    `holder` is who owns the run at present: `{host, pid, since}`, or None. `start_key` is the
    key that it was started under.
    """
    run = history.run
    tasks = sorted(history.tasks, key=lambda task: task.position)
    return {
        "run": {**_run(history, journal, holder), "startKey": start_key},
        "tasks": [_task(task) for task in tasks],
        "effects": [_effect(effect, history.late_reports) for effect in history.effects],
        "toolCalls": _tool_calls(history),
        "providerSessions": _provider_sessions(history),
        "protocolSessions": [],
        "protocolCalls": [],
        "checkpoints": _checkpoints(journal),
        "audit": [_audit(sequence, move, run.trace_id) for sequence, move in journal],
        "traces": [{"traceId": run.trace_id, "runId": run.id}],
        "artifacts": [artifact_view(one) for one in history.artifacts],
        "streamEvents": [_stream(event) for event in stream],
        "effectReconciliations": [reconciliation_view(one) for one in history.reconciliations],
        "compensations": [compensation_view(one) for one in history.compensations],
        "budget": budget_view(history),
        "memory": dict(history.memory),
        "approvals": [approval_view(one) for one in history.approvals],
        "iterations": [
            {"taskId": one.id, "parent": one.parent, "index": one.index, "state": one.state}
            for one in history.iterations
        ],
    }


def plan_view(plan: Plan) -> JsonObject:
    """Return a plan for the public: instructions from files appear as their digest only."""
    body = plan.to_json()
    definitions = cast("JsonObject", body["definitions"])
    agents = cast("dict[str, JsonObject]", definitions.get("agents") or {})
    shown = {name: _agent_view(agent) for name, agent in agents.items()}
    body["definitions"] = {**definitions, "agents": cast("JsonValue", shown)}
    return body


def _agent_view(agent: JsonObject) -> JsonObject:
    text = agent.get("instructions")
    if not (agent.get("instructionsFile") or agent.get("file")) or not isinstance(text, str):
        return agent
    kept = {key: value for key, value in agent.items() if key != "instructions"}
    return {"instructionsDigest": digest_text(text), **kept}


def run_row(
    run: RunRecord,
    now: Instant,
    *,
    counts: Mapping[str, int],
    holder: JsonObject | None,
    start_key: str | None = None,
) -> JsonObject:
    """Return a run as one row of the list; `ageSeconds` counts from its creation."""
    end = run.ended_at or now
    return {
        "runId": run.id,
        "workflow": run.workflow_name,
        "state": run.state,
        "mode": run.mode,
        "sourceRunId": run.source_run_id,
        "createdAt": iso(run.created_at),
        "endedAt": _when(run.ended_at),
        "ageSeconds": max(now - run.created_at, 0) / 1_000_000,
        "durationSeconds": max(end - run.created_at, 0) / 1_000_000,
        "tasks": dict(counts),
        "startKey": start_key,
        "holder": holder,
    }


def approval_view(approval: ApprovalRecord) -> JsonObject:
    """Return a question to a person as JSON."""
    return {
        "approvalId": approval.id,
        "taskId": approval.task_id,
        "effectId": approval.effect_id,
        "state": approval.state,
        "summary": approval.summary,
        "requestDigest": approval.request_digest,
        "requestedAt": iso(approval.requested_at),
        "expiresAt": _when(approval.expires_at),
        "decidedAt": _when(approval.decided_at),
        "actor": approval.actor,
        "reason": approval.reason,
        "canDo": _legal(approval.table.legal(approval.state)),
    }


def reconciliation_view(found: ReconciliationRecord) -> JsonObject:
    """Return what was found out about an effect as JSON."""
    return {
        "effectId": found.effect_id,
        "effectName": found.effect_name,
        "status": found.state,
        "actor": found.actor,
        "reason": found.reason,
        "evidence": found.evidence,
        "result": found.result,
        "compensationEffect": found.compensation_effect,
        "openedAt": iso(found.opened_at),
        "decidedAt": _when(found.decided_at),
        "canDo": _legal(found.table.legal(found.state)),
    }


def artifact_view(artifact: ArtifactRecord) -> JsonObject:
    """Return a reference to kept bytes as JSON."""
    return {
        "digest": artifact.digest,
        "logicalPath": artifact.logical_path,
        "sizeBytes": artifact.size_bytes,
        "mediaType": artifact.media_type,
        "name": artifact.name,
        "taskId": artifact.task_id,
        "effect": artifact.effect_name,
        "state": artifact.state,
        "createdAt": iso(artifact.created_at),
    }


def pending_approvals(history: RunHistory) -> list[ApprovalRecord]:
    """Return the questions of a run that nobody answered yet."""
    return [one for one in history.approvals if one.state == ApprovalStates.pending]


def task_counts(history: RunHistory) -> dict[str, int]:
    """Return how many tasks are in each state, in the machine's order, without the empty ones."""
    counts = dict.fromkeys(TASK.states, 0)
    for task in history.tasks:
        counts[task.state] += 1
    return {state: count for state, count in counts.items() if count}


def task_ids(history: RunHistory, disposition: str) -> list[str]:
    """Return the tasks of one disposition, in compiled order."""
    tasks = sorted(history.tasks, key=lambda task: task.position)
    return [task.id for task in tasks if task_disposition(task) == disposition]


def task_disposition(task: TaskRecord) -> str | None:
    """Return how a task got its end: executed, reused or recorded; None before its end."""
    if task.state not in TASK_FINAL:
        return None
    return task.disposition or "executed"


def _beginning(journal: Sequence[tuple[int, Transition]]) -> JsonObject:
    """Return what was said when a derived run began."""
    details = (one.detail for _, one in journal if one.machine == "run" and one.event == "start")
    first = next(details, None)
    return first if isinstance(first, dict) else {}


def _run(
    history: RunHistory,
    journal: Sequence[tuple[int, Transition]],
    holder: JsonObject | None,
) -> JsonObject:
    run = history.run
    began = _beginning(journal)
    return {
        "runId": run.id,
        "state": run.state,
        "mode": run.mode,
        "sourceRunId": run.source_run_id,
        "retryFailedOnly": bool(began.get("failedOnly")),
        "retryRoots": began.get("roots") or [],
        "reason": began.get("reason") or None,
        "workflow": run.workflow_name,
        "workflowDigest": run.workflow_digest,
        "planDigest": run.plan_digest,
        "traceId": run.trace_id,
        "workspace": run.workspace,
        "inputs": run.inputs,
        "workingMemory": dict(history.memory),
        "memoryMigration": migration_view(journal),
        "output": run.output,
        "error": run.error,
        "createdAt": iso(run.created_at),
        "endedAt": _when(run.ended_at),
        "holder": holder,
        "canDo": _legal(RUN.legal(run.state)),
    }


def _task(task: TaskRecord) -> JsonObject:
    return {
        "taskId": task.id,
        "state": task.state,
        "disposition": task_disposition(task),
        "attempt": task.attempt,
        "output": task.output,
        "error": task.error,
        "startedAt": _when(task.started_at),
        "endedAt": _when(task.ended_at),
        "dueAt": _when(task.due_at),
        "canDo": _legal(TASK.legal(task.state)),
    }


def _effect(effect: EffectRecord, late: Iterable[LateReport]) -> JsonObject:
    return {
        "status": effect.state,
        "result": effect.result,
        "error": effect.error,
        "attempt": effect.attempt,
        "ordinal": effect.ordinal,
        "dispatches": effect.dispatch,
        "requestedAt": iso(effect.requested_at),
        "startedAt": _when(effect.started_at),
        "endedAt": _when(effect.ended_at),
        "canDo": _legal(EFFECT.legal(effect.state)),
        "lateReports": [_late(one) for one in late if one.effect_name == effect.name],
        "request": {
            "id": effect.id,
            "taskId": effect.task_id,
            "operation": effect.operation,
            "effectClass": effect.effect_class,
            "risk": effect.risk,
            "idempotency": effect.idempotency,
            "idempotencyKey": effect.idempotency_key,
            "input": effect.input,
            "inputDigest": effect.input_digest,
        },
    }


def _late(report: LateReport) -> JsonObject:
    return {
        "status": report.state,
        "result": report.result,
        "error": report.error,
        "dispatch": report.dispatch,
        "fencingToken": report.token,
        "at": iso(report.at),
    }


def _is_model(effect: EffectRecord) -> bool:
    return effect.effect_class == "model"


def _agent_effects(history: RunHistory) -> list[EffectRecord]:
    """Return the effects of agent tasks in the order they were asked for."""
    tasks = cast("dict[str, JsonObject]", history.plan["tasks"])
    agents = {
        name
        for name, task in tasks.items()
        if cast("JsonObject", task["uses"]).get("kind") == "agent"
    }
    return sorted(
        (effect for effect in history.effects if effect.task_id in agents),
        key=lambda effect: (effect.task_id, effect.attempt, effect.ordinal),
    )


def _tool_calls(history: RunHistory) -> list[JsonValue]:
    """Pair each tool effect with the call of the model's turn that asked for it."""
    listed: list[JsonValue] = []
    asked: list[JsonObject] = []
    for effect in _agent_effects(history):
        if _is_model(effect):
            result = effect.result if isinstance(effect.result, dict) else {}
            asked = list(cast("list[JsonObject]", result.get("toolCalls") or []))
            continue
        call = asked.pop(0) if asked else {}
        listed.append(
            {
                "callId": call.get("id") or f"call-{effect.attempt}.{effect.ordinal}",
                "effectId": effect.id,
                "taskId": effect.task_id,
                "tool": call.get("name"),
                "operation": effect.operation,
                "status": effect.state,
            }
        )
    return listed


def _provider_sessions(history: RunHistory) -> list[JsonValue]:
    """Return one session for each agent task that a model answered: its latest turn."""
    sessions: dict[str, JsonValue] = {}
    for effect in _agent_effects(history):
        if not _is_model(effect) or not isinstance(effect.result, dict):
            continue
        request = effect.input if isinstance(effect.input, dict) else {}
        sessions[effect.task_id] = {
            "taskId": effect.task_id,
            "provider": request.get("provider"),
            "model": request.get("model"),
            "continuation": effect.result.get("continuation"),
        }
    return list(sessions.values())


def _checkpoints(journal: Sequence[tuple[int, Transition]]) -> list[JsonValue]:
    """Return each point that a resume would go on from: a task's end."""
    return [
        {"sequence": sequence, "taskId": move.entity, "state": move.target, "at": iso(move.at)}
        for sequence, move in journal
        if move.machine == TASK.name and move.target in TASK_FINAL
    ]


def _audit(sequence: int, move: Transition, trace_id: str) -> JsonObject:
    payload: JsonObject = {"from": move.source, "to": move.target, "event": move.event}
    detail = move.detail
    if isinstance(detail, dict) and "message" in detail and "code" in detail:
        payload["error"] = detail
    elif detail is not None:
        payload["detail"] = detail
    return {
        "sequence": sequence,
        "eventType": f"{move.machine}.{move.event}",
        "machine": move.machine,
        "entity": move.entity,
        "payload": payload,
        "actor": move.actor,
        "at": iso(move.at),
        "traceId": trace_id,
    }


def _stream(event: StreamEvent) -> JsonObject:
    return {
        "taskId": event.task_id,
        "attempt": event.attempt,
        "sequence": event.sequence,
        "providerSequence": event.provider_sequence,
        "effectId": event.effect_id,
        "eventType": event.event_type,
        "payload": event.payload,
        "truncated": event.truncated,
        "at": iso(event.at),
    }


def _legal(events: Iterable[str]) -> list[JsonValue]:
    return list(events)


def _when(instant: Instant | None) -> str | None:
    return None if instant is None else iso(instant)
