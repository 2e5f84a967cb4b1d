"""An agent's own usage limit: what one task may use of its model, over all its turns.

Above: the agent loop. Below: the estimate of tokens and prices. The run's budgets stop a run, which
may go on after a raise; this limit fails the task.
Source: specification, section 1.1 (agent, `usageLimit`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from attr import define, field

from agentctl.engine.programs.base import TaskError

if TYPE_CHECKING:
    from agentctl.engine.estimate import TokenEstimate
    from agentctl.engine.pricing import Prices
    from agentctl.jsonvalue import JsonObject

_MICRO = 1_000_000


@define(eq=False, repr=False)
class UsageLimit:
    """The limits of one agent against what its task has used."""

    agent: str
    limits: dict[str, int]
    prices: Prices
    estimate: TokenEstimate
    used: dict[str, int] = field(factory=dict)

    def check(self, request: JsonObject) -> None:
        """Refuse a request that would pass a limit. Raises TaskError."""
        given, made = self.estimate.tokens(request), cast("int", request["maxOutputTokens"])
        self._require("maxInputTokens", given)
        self._require("maxOutputTokens", made)
        self._require("maxCostUsd", self.prices.most(request, given, made))

    def add(self, request: JsonObject, answer: JsonObject) -> None:
        """Count what an answer used; one whose tokens nobody counted, at its most."""
        usage = cast("JsonObject", answer.get("usage") or {})
        given, made = usage.get("inputTokens"), usage.get("outputTokens")
        cost = self.prices.of_usage(request, usage)
        if not given:
            given, made = self.estimate.tokens(request), request["maxOutputTokens"]
            cost = self.prices.most(request, given, cast("int", made))
        for name, used in (
            ("maxInputTokens", given),
            ("maxOutputTokens", made),
            ("maxCostUsd", cost),
        ):
            self.used[name] = self.used.get(name, 0) + (used if isinstance(used, int) else 0)

    def _require(self, name: str, more: int) -> None:
        limit, total = self.limits.get(name), self.used.get(name, 0) + more
        if limit is None or total <= limit:
            return
        unit = " millionths of a dollar" if name == "maxCostUsd" else ""
        raise TaskError(
            f"agent {self.agent} may use {limit:,}{unit} by usageLimit.{name}; "
            f"its next request could come to {total:,}",
            code="usage_limit",
        )


def usage_limit_of(
    agent: str, definition: JsonObject, definitions: JsonObject
) -> UsageLimit | None:
    """Return an agent's usage limit, or None when it declares none."""
    declared = cast("JsonObject", definition.get("usageLimit") or {})
    if not any(value is not None for value in declared.values()):
        return None
    from agentctl.engine.estimate import TokenEstimate
    from agentctl.engine.pricing import Prices

    limits = {
        name: int(cast("float", value) * _MICRO) if name == "maxCostUsd" else cast("int", value)
        for name, value in declared.items()
        if value is not None
    }
    return UsageLimit(agent, limits, Prices.of(definitions), TokenEstimate.of(definitions))
