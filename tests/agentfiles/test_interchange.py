"""The interchange document: what is exported comes back, and no document widens an agent."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, cast

import pytest

from agentctl.agentfiles.agent import Handoff, read_agent
from agentctl.agentfiles.check import check_no_widening
from agentctl.agentfiles.interchange import Entry, export_document, import_document
from agentctl.agentfiles.reading import read_grants
from agentctl.agentfiles.rendering import render_agent
from agentctl.errors import InterchangeRefused, WideningRefused
from tests.agentfiles.test_check import NAMES
from tests.agentfiles.vectors import document, name

if TYPE_CHECKING:
    from agentctl.agentfiles.model import Format

NOW = "2026-01-02T03:04:05+00:00"
COPILOT = """---
name: reviewer
description: d
tools: ['read', 'search', 'agent']
agents: ['tester']
model: ["Some Model"]
user-invocable: false
handoffs:
  - label: To test
    agent: tester
    prompt: Run the tests.
    send: true
---
Read the change.
"""


def exported(text: str, format: Format) -> dict[str, Any]:
    """Return the document of one agent, as another program would read it."""
    entry = Entry("reviewer", "reviewer.md", read_agent(text, format))
    return cast("dict[str, Any]", json.loads(json.dumps(export_document([entry], created_at=NOW))))


def minimal(**changes: Any) -> dict[str, Any]:
    """Return a document that another program has made."""
    agent = {
        "slug": "a", "name": "A", "body_markdown": "Body.\n", "source_path": "a.md",
        "capabilities": {"tool_scopes": ["read", "search"]}, "handoffs": [],
    }  # fmt: skip
    base: dict[str, Any] = {
        "schema_version": "2.0", "created_at": NOW, "source_framework": "claude",
        "instructions_binding": {"source_name": "", "content": ""}, "agents": [agent],
    }  # fmt: skip
    return {**base, **changes}


def test_an_agent_is_exported_with_what_the_document_has_fields_for() -> None:
    made = exported(COPILOT, "copilot")
    (agent,) = made["agents"]
    assert made["source_framework"] == "copilot-vscode"
    assert agent["capabilities"] == {
        "tool_scopes": ["read", "search", "agent"],
        "model_hint": "Some Model",
        "raw": {"copilot-vscode": ["read", "search", "agent"]},
    }
    assert agent["handoffs"] == [
        {"to": "tester", "label": "To test", "prompt": "Run the tests.", "send": True}
    ]
    assert agent["raw_front_matter"] == {"agents": ["tester"], "user-invocable": False}


def test_an_exported_agent_comes_back_with_the_same_grant_and_handoffs() -> None:
    (entry,) = import_document(exported(COPILOT, "copilot"))
    before, after = read_agent(COPILOT, "copilot"), entry.agent
    assert after.handoffs == (Handoff("tester", "To test", "Run the tests.", send=True),)
    assert after.instructions == "Read the change.\n"
    assert check_no_widening(before.grant, after.grant).outcome == "ok"
    assert check_no_widening(after.grant, before.grant).outcome == "ok"
    text, verdict = render_agent(after, "copilot")
    assert verdict.outcome == "ok"
    assert read_agent(text, "copilot").handoffs == after.handoffs


@pytest.mark.parametrize("row", document()["real_agents"], ids=name)
def test_a_real_file_passes_through_the_document_unchanged(row: dict[str, Any]) -> None:
    format = NAMES[row["framework"]]
    before = read_grants(row["front_matter"], format)
    (entry,) = import_document(exported(row["front_matter"], format))
    after = entry.agent.grant
    assert (after.state, after.powers_lower, after.powers_upper, after.extras, after.limits) == (
        before.state, before.powers_lower, before.powers_upper, before.extras, before.limits,
    )  # fmt: skip


def test_a_document_of_another_program_grants_its_scopes() -> None:
    (entry,) = import_document(minimal())
    text, verdict = render_agent(entry.agent, "claude")
    assert "tools: Read, Grep, Glob\n" in text
    assert verdict.outcome == "ok"


def test_scopes_that_are_missing_are_not_known_instead_of_a_default() -> None:
    agent = {**minimal()["agents"][0], "capabilities": {}}
    (entry,) = import_document(minimal(agents=[agent]))
    with pytest.raises(WideningRefused, match="the document does not say what the agent may do"):
        render_agent(entry.agent, "claude")


def test_a_grant_that_says_more_than_the_scopes_is_not_believed() -> None:
    made = exported("---\ntools: Read, Bash\n---\n", "claude")
    made["agents"][0]["capabilities"]["tool_scopes"] = ["read"]
    (entry,) = import_document(made)
    with pytest.raises(WideningRefused, match="say different things"):
        render_agent(entry.agent, "claude")


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"schema_version": "1.0"}, "schema_version: '1.0' is not '2.0'"),
        ({"source_framework": "x"}, "source_framework: 'x' is not known"),
        ({"created_at": None}, "created_at: a time as text is needed"),
        ({"agents": {}}, "agents: a list is needed"),
        ({"agents": [1]}, "agents[0]: an object is needed"),
        ({"mcp_servers": [1]}, "mcp_servers[0]: an object is needed"),
        ({"agents": [{**minimal()["agents"][0], "slug": "../x"}]}, "unsafe slug '../x'"),
        ({"agents": minimal()["agents"] * 2}, "two agents have the slug 'a'"),
        (
            {"agents": [{**minimal()["agents"][0], "grant": {"limits": ["x"]}}]},
            "agents[0]: grant: it cannot be read",
        ),
    ],
)
def test_a_wrong_document_is_refused_by_path(change: dict[str, Any], problem: str) -> None:
    with pytest.raises(InterchangeRefused) as refused:
        import_document(minimal(**change))
    assert problem in refused.value.problems


def test_all_problems_come_at_once() -> None:
    with pytest.raises(InterchangeRefused) as refused:
        import_document({"agents": [{}]})
    assert len(refused.value.problems) == 7


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"server_id": "A_b"}, "server_id: 'A_b' is not written in lower case with dashes"),
        ({"trust_tier": "x"}, "trust_tier: 'x' is not known"),
        ({"transport": "http"}, "auth: a server that is reached by http needs it"),
        (
            {"tools": [{"name": "a", "side_effects": "x"}]},
            "tools: side_effects ['x'] are not known",
        ),
        (
            {"tools": [{"name": "a", "side_effects": "destructive"}]},
            "security_review: required must be true for a third party or a destructive tool",
        ),
    ],
)
def test_a_server_passes_its_gates_or_stops_the_import(
    change: dict[str, Any], problem: str
) -> None:
    server = {"server_id": "docs", "trust_tier": "first-party", "transport": "stdio", "tools": []}
    assert import_document(minimal(mcp_servers=[server]))
    with pytest.raises(InterchangeRefused) as refused:
        import_document(minimal(mcp_servers=[{**server, **change}]))
    assert f"mcp_servers[0]: {problem}" in refused.value.problems
