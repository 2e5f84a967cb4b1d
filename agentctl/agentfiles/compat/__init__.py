"""The capability map of AgentTeams, exactly as it reads, its faults included.

Above: programs that must agree with that library. Below: the vocabulary. Nothing of agentctl
decides by these functions: they merge "says nothing" with "grants nothing" and drop names without
a word. `agentctl.agentfiles.read_grants` is the reader to use.
"""

from agentctl.agentfiles.compat.capability_map import (
    CANONICAL_TOOL_SCOPES,
    canonical_to_goose_extensions,
    canonical_tools_for_claude,
    canonical_tools_for_copilot_vscode,
    capabilities_from_tokens,
    claude_allowed_tools_to_canonical,
    goose_extensions_to_canonical,
    goose_grants_to_canonical,
)
from agentctl.agentfiles.compat.front_matter import parse_yaml_front_matter
from agentctl.agentfiles.compat.recipe import developer_tools, recipe_extension_grants

__all__ = [
    "CANONICAL_TOOL_SCOPES",
    "canonical_to_goose_extensions",
    "canonical_tools_for_claude",
    "canonical_tools_for_copilot_vscode",
    "capabilities_from_tokens",
    "claude_allowed_tools_to_canonical",
    "developer_tools",
    "goose_extensions_to_canonical",
    "goose_grants_to_canonical",
    "parse_yaml_front_matter",
    "recipe_extension_grants",
]
