"""Which capabilities a file surely grants, and what it says instead."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from agentctl.agentfiles.capabilities import RULES, WITHOUT_CAPABILITY, capabilities_of, why_not
from agentctl.agentfiles.reading import read_grants
from tests.code.tree import ROOT

if TYPE_CHECKING:
    from agentctl.agentfiles.model import Format, Grant


CODEX = 'name = "a"\ndescription = "d"\ndeveloper_instructions = "i"\nsandbox_mode = '


def claude(*lines: str) -> Grant:
    """Return the grant of a subagent with these lines in its head."""
    return read_grants("\n".join(["---", "name: a", *lines, "---", "Text."]), "claude")


@pytest.mark.parametrize(
    ("format", "text", "expected"),
    [
        ("claude", "---\ntools: Read\n---\n", ["filesystem.read"]),
        ("claude", "---\ntools: Grep, Glob, WebFetch, Task, TodoWrite\n---\n", []),
        ("claude", "---\ntools: Edit\n---\n", []),
        ("claude", "---\ntools: Edit, Write\n---\n", ["filesystem.write"]),
        ("claude", "---\ntools: Bash(git diff:*)\n---\n", ["process.exec"]),
        ("claude", "---\ntools: Bash\ndisallowedTools: Bash(rm:*)\n---\n", []),
        ("claude", "---\nname: a\n---\n", []),
        ("claude", "---\ntools: Read, Write, Edit\npermissionMode: plan\n---\n", ["filesystem.read"]),
        ("claude", "---\ntools: [Read\n---\n", []),
        ("copilot", "---\ntools: ['read', 'edit']\n---\n", ["filesystem.read", "filesystem.write"]),
        ("copilot", "---\ntools: []\n---\n", []),
        ("codex", CODEX + '"read-only"\n', ["filesystem.read"]),
        ("codex", CODEX + '"workspace-write"\n', ["filesystem.read", "filesystem.write"]),
        ("agents-md", "Read everything.\n", []),
    ],
)  # fmt: skip
def test_only_what_a_file_surely_and_wholly_grants_is_allowed(
    format: Format, text: str, expected: list[str]
) -> None:
    assert [*capabilities_of(read_grants(text, format))] == expected


@pytest.mark.parametrize(
    ("grant", "capability", "told"),
    [
        (claude("tools: Read, Grep"), "filesystem.write", "by Read (3:8), Grep (3:14)"),
        (claude("tools: Read, Edit"), "filesystem.write", "by Edit (3:14); edit.create is missing"),
        (claude("description: x"), "filesystem.read", "to its host (at 2:1: no tools"),
        (claude("tools: Read", "disallowedTools: Bash"), "process.exec", "by Read (3:8), and denies Bash (4:18)"),
        (claude("tools: Edit, Write", "permissionMode: plan"), "filesystem.write", "the limit permission:plan"),
        (claude("tools: Read"), "filesystem.reed", "did you mean 'filesystem.read'?"),
        (read_grants("no head", "claude"), "filesystem.read", "it cannot be read"),
        (read_grants("---\ntools: []\n---\n", "copilot"), "filesystem.read", "it grants no tools"),
    ],
)  # fmt: skip
def test_what_a_file_says_instead_is_told_with_its_place(
    grant: Grant, capability: str, told: str
) -> None:
    assert told in (why_not(grant, capability) or "")


def test_a_granted_capability_needs_no_reason() -> None:
    assert why_not(claude("tools: Read"), "filesystem.read") is None


def test_the_page_has_the_table_of_scopes_and_capabilities() -> None:
    page = (ROOT / "docs" / "agent-files.md").read_text(encoding="utf-8")
    table = page.partition("| scope | capability | needs |\n| --- | --- | --- |\n")[2]
    rows = [re.split(r" *\| *", one)[1:-1] for one in table.partition("\n\n")[0].splitlines()]
    expected = [
        [one.scope, f"`{one.capability}`", ", ".join(f"`{power}`" for power in sorted(one.powers))]
        for one in RULES
    ]
    assert rows[:-1] == expected
    assert rows[-1][:2] == [", ".join(WITHOUT_CAPABILITY), "–"]
