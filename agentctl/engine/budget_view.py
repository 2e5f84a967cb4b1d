"""The budget of a run as `inspect` shows it: limits, what was used, what is held, what stopped it.

Above: the view. Below: the meter. Source: specification, sections 11 and 13.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, cast

from agentctl.engine.budget import WALL_TIME, Meter, dimension_of, is_settled, spent_on
from agentctl.engine.plan import plan_from_json

if TYPE_CHECKING:
    from agentctl.engine.records import RunHistory
    from agentctl.jsonvalue import JsonObject

_ALWAYS_SHOWN = ("providerRequests", "turns", "toolCalls", "inputTokens", "outputTokens")


def budget_view(history: RunHistory) -> JsonObject:
    """Return `{limits, usage, reserved, exceeded}` by dimension; limits keep their own names."""
    plan = plan_from_json(history.plan)
    meter = Meter.of(plan)
    used: Counter[str] = Counter()
    held: Counter[str] = Counter()
    for effect in history.effects:
        (used if is_settled(effect) else held).update(meter.consumption(effect))
    for finding in history.reconciliations:
        used.update(spent_on(finding))
    planned = cast("JsonObject", plan.definitions.get("budgets") or {})
    limits: JsonObject = {**planned, **(history.run.raised_budgets or {})}
    shown = [*_ALWAYS_SHOWN, *(dimension_of(name) for name in limits)]
    nonzero = [name for name, count in used.items() if count]
    usage: JsonObject = {name: used[name] for name in dict.fromkeys([*shown, *nonzero])}
    usage["tasks"] = len(history.tasks)
    usage.pop(dimension_of(WALL_TIME), None)
    if history.run.ended_at is not None:
        took = history.run.ended_at - history.run.created_at
        usage[dimension_of(WALL_TIME)] = max(took, 0) // 1_000_000
    return {
        "limits": limits,
        "usage": usage,
        "reserved": {name: count for name, count in held.items() if count},
        "exceeded": _exceeded(history),
    }


def _exceeded(history: RunHistory) -> JsonObject | None:
    error = history.run.error
    if not isinstance(error, dict) or "dimension" not in error:
        return None
    return {name: error[name] for name in ("dimension", "limit", "attempted")}
