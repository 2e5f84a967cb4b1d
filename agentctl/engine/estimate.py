"""How many tokens a model request is taken to have, before its provider counts them.

Above: budgets and agents' usage limits. Below: the plan's definitions of tools.
Source: specification, section 11.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from attr import define, field

from agentctl.jsonvalue import canonical

if TYPE_CHECKING:
    from agentctl.jsonvalue import JsonObject, JsonValue

# A rough measure that errs upwards for prose; the provider's own count replaces it.
CHARACTERS_PER_TOKEN: Final = 4
# What a model is told of a tool.
_TOLD: Final = ("description", "inputSchema")


@define(eq=False, repr=False)
class TokenEstimate:
    """Estimates requests whose tools are `tools`, by name; each of them is measured once."""

    tools: JsonObject
    _characters: dict[str, int] = field(factory=dict, init=False)

    @classmethod
    def of(cls, definitions: JsonObject) -> TokenEstimate:
        """Return the estimate for a plan: a tool of the document hides one of the catalog."""
        declared = cast("JsonObject", definitions.get("tools") or {})
        return cls({**cast("JsonObject", definitions.get("catalogTools") or {}), **declared})

    def tokens(self, request: JsonObject) -> int:
        """Return the tokens of messages, instructions, schema of the output, and tools."""
        count = len(canonical(request.get("messages")))
        count += len(str(request.get("instructions") or ""))
        schema = request.get("structuredOutput")
        count += len(canonical(schema)) if schema else 0
        names = cast("list[str]", request.get("tools") or [])
        count += sum(self._of_tool(name) for name in names)
        return -(-count // CHARACTERS_PER_TOKEN)

    def _of_tool(self, name: str) -> int:
        if name not in self._characters:
            tool = cast("JsonObject", self.tools.get(name) or {})
            told: dict[str, JsonValue] = {"name": name}
            told.update({member: tool[member] for member in _TOLD if member in tool})
            self._characters[name] = len(canonical(told))
        return self._characters[name]
