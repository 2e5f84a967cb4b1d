"""Which format a file has, by its place, and never by a guess."""

from __future__ import annotations

import pytest

from agentctl.agentfiles.reading import detect_format


@pytest.mark.parametrize(
    ("path", "format"),
    [
        (".claude/agents/team/reviewer.md", "claude"),
        ("x\\.claude\\agents\\reviewer.md", "claude"),
        (".github/agents/reviewer.md", "copilot"),
        ("reviewer.agent.md", "copilot"),
        (".github/chatmodes/plan.chatmode.md", "copilot"),
        (".goose/recipes/reviewer.yaml", "goose"),
        ("home/.config/goose/agents/reviewer.yaml", "goose"),
        (".gemini/agents/reviewer.md", "gemini"),
        (".opencode/agent/reviewer.md", "opencode"),
        (".codex/agents/reviewer.toml", "codex"),
        (".cursor/agents/reviewer.md", "cursor"),
        (".factory/droids/reviewer.md", "factory"),
        ("docs/AGENTS.md", "agents-md"),
        ("reviewer.md", None),
        ("reviewer.yaml", None),
    ],
)
def test_a_path_tells_the_format(path: str, format: str | None) -> None:
    assert detect_format(path, "---\ntools: Read\n---\n") == format


def test_a_text_tells_the_formats_that_no_other_shares() -> None:
    assert detect_format("a.toml", 'developer_instructions = "x"\n') == "codex"
    assert detect_format("a.yaml", "version: 1.0.0\ntitle: t\ninstructions: x\n") == "goose"
