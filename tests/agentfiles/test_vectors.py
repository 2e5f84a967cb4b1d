"""The capability map reads as its library does, row by row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from agentctl.agentfiles import compat
from tests.agentfiles.vectors import name, rows

if TYPE_CHECKING:
    from collections.abc import Callable


def seed_extensions(names: list[str]) -> list[str]:
    """Read extension names as the seed's edition does."""
    return compat.goose_extensions_to_canonical(names, edition="seed")


def developer_tools(entries: list[dict[str, Any]]) -> list[str]:
    """Return the set as the vectors write it."""
    return sorted(compat.developer_tools(entries))


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "capability_map.canonical_tools_for_copilot_vscode": compat.canonical_tools_for_copilot_vscode,
    "capability_map.canonical_tools_for_claude": compat.canonical_tools_for_claude,
    "capability_map.claude_allowed_tools_to_canonical": compat.claude_allowed_tools_to_canonical,
    "capability_map.goose_extensions_to_canonical": compat.goose_extensions_to_canonical,
    "capability_map.goose_extensions_to_canonical@seed": seed_extensions,
    "capability_map.goose_grants_to_canonical": compat.goose_grants_to_canonical,
    "capability_map.canonical_to_goose_extensions": compat.canonical_to_goose_extensions,
    "capability_map.capabilities_from_tokens": compat.capabilities_from_tokens,
    "capability_map.CANONICAL_TOOL_SCOPES": lambda: list(compat.CANONICAL_TOOL_SCOPES),
    "yaml_frontmatter.parse_yaml_front_matter": lambda text: list(
        compat.parse_yaml_front_matter(text)
    ),
    "goose_recipe_read.recipe_extension_grants": compat.recipe_extension_grants,
    "goose_recipe_read.developer_tools": developer_tools,
}
ROWS = [row for function in FUNCTIONS for row in rows(function)]


@pytest.mark.parametrize("row", ROWS, ids=name)
def test_the_capability_map_returns_what_its_library_returns(row: dict[str, Any]) -> None:
    assert FUNCTIONS[row["function"]](*row["args"]) == row["result"]
