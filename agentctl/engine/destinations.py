"""Every address that a plan is going to need, before any of it runs.

Above: the embedded door, which has them checked before a run is stored. Below: the plan's
definitions. Pure; what may be reached is decided elsewhere.
Source: specification, section 12.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from agentctl.engine.credentials import providers_in_use
from agentctl.providers import PROVIDERS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentctl.engine.plan import Plan
    from agentctl.jsonvalue import JsonObject

# A kind of action, where its destinations are defined, and under which name.
_SERVERS = (("mcp.call", "mcpServers", "url"), ("a2a.delegate", "a2aPeers", "cardUrl"))


def destinations_of(plan: Plan) -> list[str]:
    """Return the URLs of providers that agents ask, and of servers that actions may call."""
    return [*_providers(plan), *_servers(plan)]


def _providers(plan: Plan) -> Iterator[str]:
    used = providers_in_use(plan)
    for name, provider in _named(plan, "providers").items():
        facts = PROVIDERS[cast("str", provider["kind"])]
        if name in used and facts.is_remote:
            yield cast("str | None", provider.get("endpoint")) or facts.endpoint


def _servers(plan: Plan) -> Iterator[str]:
    actions = _named(plan, "actions")
    kinds = {
        actions[cast("str", task.uses_name)]["kind"]
        for task in plan.tasks.values()
        if task.uses_kind == "action"
    }
    for kind, section, key in _SERVERS:
        if kind in kinds:
            yield from (cast("str", one[key]) for one in _named(plan, section).values())


def _named(plan: Plan, section: str) -> dict[str, JsonObject]:
    return cast("dict[str, JsonObject]", plan.definitions.get(section) or {})
