"""What a policy says of everything that a plan may ask the outside for, as data.

Above: `agentctl explain policy`. Below: the policy and the plan. Pure. What depends on values
and on the machine (paths, hosts, files) is judged when it is used, and is not told here.
Source: specification, sections 1.1 (policy) and 8.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, cast

from attr import frozen

from agentctl.engine.kinds import kind_of
from agentctl.engine.policy import Policy
from agentctl.engine.programs import action_kind, pure_program
from agentctl.value import Value

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentctl.engine.plan import Plan, PlanTask
    from agentctl.engine.policy import ApprovalOverride
    from agentctl.engine.records import EffectClass, Risk
    from agentctl.jsonvalue import JsonObject, JsonValue

Verdict = Literal["allowed", "asks", "denied"]


@frozen(kw_only=True, eq=False, repr=False)
class _Asked(Value):
    """One thing that a task may ask for; `tool` is the agent's tool that it is for."""

    operation: str
    effect_class: EffectClass
    risk: Risk
    capability: str = ""
    name: str = ""
    tool: str | None = None
    approval: ApprovalOverride = "policy"


def policy_view(plan: Plan) -> JsonObject:
    """Return the policy's own settings, and for every task its requests with a verdict.

    A verdict is `allowed`, `asks` (a person is asked first) or `denied`; `reason` says why, and
    `rule` is the place in the document that decides, such as `spec.policy.toolsDeny[0]`.
    """
    policy = Policy.from_definitions(plan.definitions)
    tasks: list[JsonValue] = []
    for task_id in plan.order:
        asked: list[JsonValue] = [
            _judged(one, policy, plan) for one in _asked(plan, plan.tasks[task_id])
        ]
        tasks.append({"task": task_id, "requests": asked})
    return {"workflow": plan.workflow_name, "policy": _settings(plan), "tasks": tasks}


def _settings(plan: Plan) -> JsonObject:
    policy = cast("JsonObject", plan.definitions["policy"])
    kept = ("approval", "nonInteractive", "approvalExpiresSeconds", "toolsAllow", "toolsDeny")
    return {name: policy.get(name) for name in kept}


def _asked(plan: Plan, task: PlanTask) -> Iterator[_Asked]:
    """Return what a task may ask for: an action's one effect, or an agent's model and tools."""
    if pure_program(plan, task) is not None:
        return
    name = cast("str", task.uses_name)
    if task.uses_kind == "agent":
        yield from _asked_by_agent(plan.definitions, name)
        return
    facts = kind_of(action_kind(plan, name))
    yield _Asked(
        operation=facts.kind,
        effect_class=facts.effect_class,
        risk=facts.risk,
        capability=facts.capability,
        name=name,
    )


def _asked_by_agent(definitions: JsonObject, name: str) -> Iterator[_Asked]:
    agent = cast("dict[str, JsonObject]", definitions["agents"])[name]
    providers = cast("dict[str, JsonObject]", definitions["providers"])
    tools = cast("dict[str, JsonObject]", definitions["tools"])
    kind = providers[cast("str", agent["provider"])]["kind"]
    yield _Asked(operation=f"model.{kind}", effect_class="model", risk="low")
    for granted in cast("list[str]", agent.get("tools") or []):
        tool = tools[granted]
        yield _Asked(
            operation=cast("str", tool["kind"]),
            effect_class=cast("EffectClass", tool["effectClass"]),
            risk=cast("Risk", tool["risk"]),
            capability=cast("str", tool["capability"]),
            name=granted,
            tool=granted,
            approval=cast("ApprovalOverride", tool.get("approval") or "policy"),
        )


def _judged(asked: _Asked, policy: Policy, plan: Plan) -> JsonObject:
    verdict, reason, rule = _verdict(asked, policy, plan)
    return {
        "operation": asked.operation,
        "tool": asked.tool,
        "capability": asked.capability or None,
        "effectClass": asked.effect_class,
        "risk": asked.risk,
        "verdict": verdict,
        "reason": reason,
        "rule": rule,
    }


def _verdict(asked: _Asked, policy: Policy, plan: Plan) -> tuple[Verdict, str, str]:
    # The tool lists name capabilities of actions and tools; a model has its own list.
    denial = policy.denial(asked.capability, (asked.name,)) if asked.capability else None
    if denial is not None:
        return "denied", denial, _denying_rule(asked, plan)
    asks = policy.needs_approval(asked.effect_class, asked.risk, asked.approval)
    verdict: Verdict = "asks" if asks else "allowed"
    if asked.approval != "policy":
        reason = f"the tool's own approval is {asked.approval}"
        return verdict, reason, f"spec.tools.{asked.tool}.approval"
    return verdict, f"policy.approval is {policy.approval}", "spec.policy.approval"


def _denying_rule(asked: _Asked, plan: Plan) -> str:
    """Return the entry that denies, or the list that does not allow."""
    denying = cast("JsonObject", plan.definitions["policy"])["toolsDeny"]
    listed = cast("list[str]", denying)
    for one in (asked.capability, asked.name):
        if one in listed:
            return f"spec.policy.toolsDeny[{listed.index(one)}]"
    return "spec.policy.toolsAllow"
