"""Read the grants of an agent file, and tell which format a file has.

Above: the check, the renderers, the commands. Below: one reader per format.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from agentctl.agentfiles.header import read_front_matter, read_recipe
from agentctl.agentfiles.model import Draft
from agentctl.agentfiles.readers import claude, codex, copilot, flags, gemini, goose, opencode
from agentctl.text.nodes import Refused

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentctl.agentfiles.header import Head
    from agentctl.agentfiles.model import Format, Grant

_MARKDOWN: Final[dict[str, Callable[[Head, Draft], Grant]]] = {
    "claude": claude.read,
    "copilot": copilot.read,
    "gemini": gemini.read,
    "opencode": opencode.read,
    "cursor": flags.read_cursor,
    "factory": flags.read_factory,
}
# Folders first: the same head in two folders is two formats.
_PLACES: Final[tuple[tuple[str, Format], ...]] = (
    (r"(^|/)\.claude/agents/.*\.md$", "claude"),
    (r"(^|/)\.github/(agents/.*\.md|chatmodes/.*\.md)$", "copilot"),
    (r"\.(agent|chatmode)\.md$", "copilot"),
    (r"(^|/)(\.goose/recipes|goose/agents|\.goose/agents)/.*\.ya?ml$", "goose"),
    (r"(^|/)\.gemini/agents/.*\.md$", "gemini"),
    (r"(^|/)\.opencode/agents?/.*\.md$", "opencode"),
    (r"(^|/)\.codex/agents/.*\.toml$", "codex"),
    (r"(^|/)\.cursor/agents/.*\.md$", "cursor"),
    (r"(^|/)\.factory/droids/.*\.md$", "factory"),
    (r"(^|/)AGENTS(\.override)?\.md$", "agents-md"),
)
_PATTERNS: Final = tuple((re.compile(pattern), format) for pattern, format in _PLACES)


def read_grants(text: str, format: Format) -> Grant:
    """Return what a file's text grants in a format. Never raises for what the text says."""
    draft = Draft(format)
    try:
        if format == "codex":
            return codex.read(text, draft)
        if format == "agents-md":
            return flags.read_agents_md(draft)
        if format == "goose":
            return goose.read(read_recipe(text), draft)
        return _MARKDOWN[format](read_front_matter(text), draft)
    except Refused as refused:
        return draft.unreadable(refused.message, refused.place, refused.help)


def detect_format(path: str, text: str = "") -> Format | None:
    """Return the format that a path, or else a text, can only have; None instead of a guess.

    A Markdown head alone is never enough: three hosts share the same keys.
    """
    name = path.replace("\\", "/")
    for pattern, format in _PATTERNS:
        if pattern.search(name):
            return format
    if name.endswith((".yaml", ".yml")) and _has_keys(text, "version", "title", "instructions"):
        return "goose"
    if name.endswith(".toml") and _has_keys(text, "developer_instructions"):
        return "codex"
    return None


def _has_keys(text: str, *keys: str) -> bool:
    return all(re.search(rf"^{key}\s*[:=]", text, re.MULTILINE) for key in keys)
