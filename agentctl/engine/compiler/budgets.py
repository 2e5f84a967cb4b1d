"""Stage: counts that the budgets limit, and the prices that cost limits need.

Above: the pipeline. Below: the expanded tasks. Everything else is settled at run time.
Source: specification, sections 1.2 and 11.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agentctl.engine.compiler.expand import Expander
    from agentctl.engine.compiler.report import Report
    from agentctl.engine.document.agent_model import Agent
    from agentctl.engine.document.model import Spec
    from agentctl.engine.document.policy_model import Budgets

_BUDGETS = "spec.runtime.budgets"


def check_counts(budgets: Budgets, expanded: Expander, file: str, report: Report) -> None:
    """Refuse a plan with more tasks, items or iterations than its budgets allow."""
    for name, limit, count, what in (
        ("maxTasks", budgets.max_tasks, len(expanded.tasks), "tasks"),
        (
            "maxExpansionItems",
            budgets.max_expansion_items,
            expanded.expansion_items,
            "foreach and matrix items",
        ),
        (
            "maxLoopIterations",
            budgets.max_loop_iterations,
            expanded.loop_iterations,
            "loop iterations",
        ),
    ):
        if limit is not None and count > limit:
            report.add(
                "budget_exceeded",
                f"the plan has {count} {what}; {name} is {limit}",
                file=file,
                path=f"{_BUDGETS}.{name}",
                help=f"raise {name}, or make the workflow smaller",
            )


def check_prices(spec: Spec, file: str, report: Report) -> None:
    """Refuse a cost limit for an agent whose model has no price."""
    whole = spec.runtime.budgets.max_cost_microusd is not None
    for name, agent in spec.agents.items():
        own = agent.usage_limit is not None and agent.usage_limit.max_cost_usd is not None
        if (whole or own) and not _has_price(spec, agent):
            report.add(
                "missing_reference",
                f"a cost limit needs the price of {agent.provider}/{agent.model}",
                file=file,
                path=f"spec.agents.{name}.usageLimit" if own else f"{_BUDGETS}.maxCostMicrousd",
                help=f'add "{agent.provider}/{agent.model}" to spec.runtime.pricing.models',
            )


def _has_price(spec: Spec, agent: Agent) -> bool:
    pricing = spec.runtime.pricing
    if pricing is None:
        return False
    provider = spec.providers.get(agent.provider)
    names = [agent.provider] if provider is None else [agent.provider, provider.kind]
    return any(f"{name}/{agent.model}" in pricing.models for name in names)
