"""Programs of effectful built-in actions and of registered Python functions: one request each.

Above: the runner, through `agentctl.engine.programs`. Below: executors, by operation name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from agentctl.engine.kinds import kind_of
from agentctl.engine.ports import EffectRequest
from agentctl.engine.programs.base import Steps, TaskContext, TaskError, TaskResult

if TYPE_CHECKING:
    from agentctl.engine.records import Idempotency
    from agentctl.jsonvalue import JsonObject


def action_steps(context: TaskContext) -> Steps:
    """Ask for the action's one effect, and give its result as the output."""
    name = cast("str", context.task.uses_name)
    actions = cast("dict[str, JsonObject]", context.definitions["actions"])
    definition = actions[name]
    facts = kind_of(cast("str", definition["kind"]))
    declared = cast("Idempotency | None", definition.get("idempotency"))
    request = EffectRequest(
        operation=facts.kind,
        effect_class=facts.effect_class,
        idempotency=declared or facts.idempotency,
        risk=facts.risk,
        input=context.input,
        timeout_seconds=context.task.timeout_seconds,
        capability=facts.capability,
        names=(name,),
        hints={"action": name},
    )
    denied = context.policy.denial(request.capability, request.names)
    if denied is not None:
        raise TaskError(denied, code="policy_denied")
    result = yield request
    return TaskResult(output=result)
