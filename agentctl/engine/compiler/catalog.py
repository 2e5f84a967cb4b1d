"""Stage: what agents are granted of the catalog agrees with the catalog and with the policy.

Above: the check of agents, and the definitions of a plan. Below: the catalog. What an agent is
granted and would not see all the same is refused, with the reason, before anything runs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from agentctl.catalog.bindings import BINDING_OF_KIND, bind
from agentctl.catalog.descriptor import GROUPS
from agentctl.catalog.exposure import decide
from agentctl.catalog.tools import BY_ID, CATALOG, CLAIMS, CONTROL_PLANE_OWNED
from agentctl.engine.programs.catalog_tools import MAY_END, grant_of, policy_of, visible
from agentctl.suggest import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from agentctl.catalog.exposure import Decision
    from agentctl.catalog.policy import Grant, Policy
    from agentctl.diagnostics import DiagnosticCode
    from agentctl.jsonvalue import JsonObject

    Problem = tuple[DiagnosticCode, str, str, str | None]

_FOR_TESTS = "test_escape_hatch"


def problems_of_grant(
    declared: JsonObject, policy: JsonObject, tools: Iterable[str]
) -> Iterator[Problem]:
    """Yield code, message, place below the agent and help of everything wrong with a grant.

    `tools` are the agent's own, which must not have the name of one of the catalog.
    """
    for index, name in enumerate(tools):
        if name in BY_ID:
            message = f"the catalog has a tool {name}, so this agent cannot have another one"
            yield "schema_violation", message, f"tools[{index}]", "give the tool another name"
    yield from _unknown("claim", cast("list[str]", declared["claims"]), CLAIMS, "catalog.claims")
    grant, rules = grant_of(declared), policy_of(policy)
    for place, name in enumerate(cast("list[str]", declared["tools"])):
        yield from _problems_of_tool(name, f"catalog.tools[{place}]", grant, rules)
    for place, group in enumerate(cast("list[str]", declared["groups"])):
        decisions = [
            decide(one.operation_id, grant, rules) for one in CATALOG if one.group == group
        ]
        if not any(one.is_allowed for one in decisions):
            message = f"the group {group} shows nothing to this agent: {_reasons(decisions)}"
            yield "policy_denied", message, f"catalog.groups[{place}]", _advice(decisions)


def problems_of_answer(agent: JsonObject, policy: JsonObject) -> Iterator[Problem]:
    """Yield what keeps an agent with `structuredOutput` from answering as that says.

    The answer to a call that ends the turn is the task's output, and no schema's.
    """
    if agent.get("structuredOutput") is None:
        return
    ending = [name for name in visible(agent, policy) if name in MAY_END]
    if ending:
        message = f"a call of {', '.join(ending)} can end the turn without the structured answer"
        help = "remove structuredOutput, write catalog.mode: ask, or deny them by policy.catalog"
        yield "unsupported_capability", message, "structuredOutput", help


def problems_of_policy(declared: JsonObject) -> Iterator[Problem]:
    """Yield what is wrong with what a policy says about the catalog."""
    denied = cast("list[str]", declared["deniedOperations"])
    yield from _unknown("tool of the catalog", denied, BY_ID, "deniedOperations")
    claims = cast("list[str]", declared["deniedClaims"])
    yield from _unknown("claim", claims, CLAIMS, "deniedClaims")


def catalog_definitions(definitions: JsonObject) -> JsonObject:
    """Return what models are told of the tools that agents see: by kind of provider, by name.

    An agent with the catalog also gets the list of what it sees, as `catalog.visible`.
    """
    policy = cast("JsonObject", definitions["policy"])
    providers = cast("dict[str, JsonObject]", definitions["providers"])
    told: dict[str, JsonObject] = {}
    for agent in cast("dict[str, JsonObject]", definitions["agents"]).values():
        if not agent.get("catalog"):
            continue
        seen = visible(agent, policy)
        cast("JsonObject", agent["catalog"])["visible"] = [*seen]
        kind = cast("str", providers[cast("str", agent["provider"])]["kind"])
        made = bind(BINDING_OF_KIND[kind], [BY_ID[name] for name in seen])
        told.setdefault(kind, {}).update(zip(seen, made, strict=True))
    return {**told}


def _problems_of_tool(name: str, place: str, grant: Grant, policy: Policy) -> Iterator[Problem]:
    if name in CONTROL_PLANE_OWNED:
        message = f"{name} is no tool: the control plane does it itself"
        yield "policy_denied", message, place, None
    elif name not in BY_ID:
        yield from _unknown("tool of the catalog", [name], BY_ID, place, is_list=False)
    elif BY_ID[name].group == _FOR_TESTS:
        message = f"{name} exists in tests alone; no workflow can grant it"
        yield "policy_denied", message, place, None
    else:
        decision = decide(name, grant, policy)
        if not decision.is_allowed:
            message = f"the agent would not see {name}: {decision.reason}"
            yield "policy_denied", message, place, _advice([decision])


def _unknown(
    what: str, names: Iterable[str], known: Collection[str], place: str, *, is_list: bool = True
) -> Iterator[Problem]:
    for index, name in enumerate(names):
        if name not in known:
            help = did_you_mean(name, known) or "see `agentctl tools list`"
            at = f"{place}[{index}]" if is_list else place
            yield "missing_reference", f"no {what} is named {name!r}", at, help


def _reasons(decisions: Iterable[Decision]) -> str:
    return "; ".join(f"{one.operation_id}: {one.reason}" for one in decisions)


def _advice(decisions: Iterable[Decision]) -> str:
    """Return what would open the tools, where claims are all that is missing."""
    missing = sorted({claim for one in decisions for claim in one.missing_claims})
    if missing:
        return f"add to catalog.claims: {', '.join(missing)}"
    return f"see `agentctl tools explain`; groups: {', '.join(GROUPS)}"
