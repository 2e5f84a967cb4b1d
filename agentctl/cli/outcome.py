"""The outcome of a run, as an envelope and as a few lines for people.

Above: every command that moves a run. Below: `engine.events`. A run that failed or was cancelled
has its envelope's `data` and, beside it, the `error` that scripts look for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from agentctl.cli.paint import paint, visible
from agentctl.errors import UncertainEffect

if TYPE_CHECKING:
    from agentctl.cli.console import Console
    from agentctl.engine.events import RunOutcome
    from agentctl.jsonvalue import JsonObject, JsonValue

_PARKED, _FAILED, _CANCELLED = 3, 4, 130
_HEADLINES = {0: "green", _PARKED: "yellow", _FAILED: "red", _CANCELLED: "yellow"}


def report(console: Console, outcome: RunOutcome) -> int:
    """Write an outcome and return its exit code."""
    if console.is_human:
        console.text(_human(console, outcome))
        return outcome.exit_code
    body: JsonObject = {"kind": "RunOutcome", "data": outcome_data(outcome)}
    if outcome.exit_code in (_FAILED, _CANCELLED):
        body["error"] = _error(outcome)
    console.document(body)
    return outcome.exit_code


def outcome_data(outcome: RunOutcome) -> JsonObject:
    """Return the public JSON of an outcome."""
    counts: JsonObject = dict(outcome.tasks)
    reused: list[JsonValue] = list(outcome.reused_tasks)
    executed: list[JsonValue] = list(outcome.executed_tasks)
    return {
        "runId": outcome.run_id,
        "state": outcome.state,
        "mode": outcome.mode,
        "workflowName": outcome.workflow_name,
        "planDigest": outcome.plan_digest,
        "sourceRunId": outcome.source_run_id,
        "traceId": outcome.trace_id,
        "output": outcome.output,
        "tasks": counts,
        "reusedTasks": reused,
        "executedTasks": executed,
        "compensatedTasks": list(outcome.compensated_tasks),
        "compensation": outcome.compensation,
        "existing": outcome.existing,
        "waitUntil": (outcome.error or {}).get("waitUntil"),
    }


def _error(outcome: RunOutcome) -> JsonObject:
    error = outcome.error or {}
    from agentctl.errors import RunCancelled, RunFailed

    code = RunCancelled.code if outcome.exit_code == _CANCELLED else RunFailed.code
    body: JsonObject = {
        "code": error.get("code") or code,
        "exitCode": outcome.exit_code,
        "message": error.get("message") or f"run {outcome.run_id} {outcome.state}",
        "runId": outcome.run_id,
        "traceId": outcome.trace_id,
    }
    task = error.get("taskId")
    if task is not None:
        body["taskId"] = task
    return body


def _human(console: Console, outcome: RunOutcome) -> str:
    colour = _HEADLINES.get(outcome.exit_code, "bold")
    state = paint(outcome.state, colour, on=console.uses_colour())
    counts = ", ".join(f"{count} {name}" for name, count in outcome.tasks.items() if count)
    lines = [f"run {outcome.run_id} {state}" + (f": {counts}" if counts else "")]
    if outcome.existing:
        lines.append("  it was started before under this key; nothing was started now")
    if outcome.source_run_id:
        lines.append(f"source={outcome.source_run_id}")
    error = outcome.error or {}
    if error.get("message"):
        task = f"task {error['taskId']}: " if error.get("taskId") else ""
        lines.append("  " + visible(f"{task}{error['message']}"))
    lines += _undoing(outcome)
    lines += _next_steps(outcome)
    if outcome.output not in (None, {}):
        lines.append(_pretty(outcome.output))
    return "\n".join(lines)


def _undoing(outcome: RunOutcome) -> list[str]:
    lines = []
    if outcome.compensated_tasks:
        lines.append("compensated=" + ",".join(outcome.compensated_tasks))
    came = outcome.compensation or {}
    if "runId" in came:
        lines.append(f"  run {came['runId']} undid what it could: {came['state']}")
    elif isinstance(came.get("error"), dict):
        lines.append(
            "  " + visible(f"it was not undone: {cast('JsonObject', came['error'])['message']}")
        )
    return lines


def _next_steps(outcome: RunOutcome) -> list[str]:
    dimension = (outcome.error or {}).get("dimension")
    if isinstance(dimension, str):
        name = f"max{dimension[0].upper()}{dimension[1:]}"
        return [f"  `agentctl resume {outcome.run_id} --raise-budget {name}=…` goes on from here"]
    if (outcome.error or {}).get("code") == UncertainEffect.code:
        return [f"  `agentctl reconcile {outcome.run_id}` asks what became of each"]
    if "waitUntil" in (outcome.error or {}):
        return [f"  `agentctl resume {outcome.run_id}` goes on from here, then or earlier"]
    if (outcome.error or {}).get("code") == "approval_required":
        return [f"  `agentctl inspect {outcome.run_id}` shows what it asks, and how to answer"]
    if outcome.exit_code == _PARKED:
        return [f"  `agentctl inspect {outcome.run_id}` shows what it waits for"]
    if outcome.mode == "compensation" and outcome.exit_code in (_FAILED, _CANCELLED):
        return [f"  `agentctl compensate {outcome.source_run_id} --plan` shows what is left"]
    if outcome.exit_code in (_FAILED, _CANCELLED):
        return [f"  `agentctl inspect {outcome.run_id}` shows what happened"]
    return []


def _pretty(value: JsonValue) -> str:
    import json

    text = json.dumps(value, ensure_ascii=False, indent=2)
    return "\n".join(visible(line) for line in text.splitlines())
