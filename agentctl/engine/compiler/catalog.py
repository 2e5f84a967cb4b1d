"""Stage: what agents are granted of the catalog agrees with the catalog and with the policy.

Above: the pipeline, and the definitions of a plan. Below: the catalog. What an agent is granted
and would not see all the same is refused, with the reason, before anything runs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from agentctl.catalog.tools import BY_ID
from agentctl.engine.programs.catalog_tools import visible

if TYPE_CHECKING:
    from agentctl.jsonvalue import JsonObject


def catalog_definitions(definitions: JsonObject) -> JsonObject:
    """Return what models are told of every tool of the catalog that some agent sees.

    An agent with the catalog also gets the list of what it sees, as `catalog.visible`.
    """
    policy = cast("JsonObject", definitions["policy"])
    told: JsonObject = {}
    for agent in cast("dict[str, JsonObject]", definitions["agents"]).values():
        if not agent.get("catalog"):
            continue
        seen = visible(agent, policy)
        cast("JsonObject", agent["catalog"])["visible"] = [*seen]
        for name in seen:
            tool = BY_ID[name]
            told[name] = {"description": tool.description, "inputSchema": tool.input_schema}
    return told
