"""A model's tool call that does not fit: each failure says which tool, why, and stays on record."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.cli.test_journeys import Desk, desk, workflow

if TYPE_CHECKING:
    from agentctl.jsonvalue import JsonObject

__all__ = ["desk"]

TEXT: JsonObject = {
    "type": "object",
    "required": ["text"],
    "properties": {"text": {"type": "string"}},
}
PATH: JsonObject = {
    "type": "object",
    "required": ["path"],
    "properties": {"path": {"type": "string"}},
}


def tool(kind: str, given: JsonObject, made: JsonObject, capability: str, cls: str) -> JsonObject:
    """Return a harmless tool."""
    return {
        "kind": kind,
        "description": "A tool.",
        "inputSchema": given,
        "outputSchema": made,
        "capability": capability,
        "risk": "low",
        "effectClass": cls,
        "idempotency": "idempotent",
        "retrySafe": True,
        "timeoutSeconds": 5,
        "approval": "never",
    }


def agent_with(one: JsonObject, arguments: JsonObject) -> JsonObject:
    """Return a workflow whose agent calls one tool once."""
    return workflow(
        {
            "policy": {"approval": "never"},
            "providers": {"fake": {"kind": "fake"}},
            "tools": {"probe": one},
            "agents": {
                "caller": {
                    "provider": "fake",
                    "model": "scripted",
                    "instructions": "Call it.",
                    "tools": ["probe"],
                    "maxTurns": 2,
                    "maxToolCalls": 1,
                    "providerOptions": {"toolInput": arguments, "finalText": "done"},
                }
            },
            "tasks": [{"id": "call", "uses": "agent:caller", "with": {"prompt": "go"}}],
        }
    )


ECHO = ("builtin.echo", "echo", "pure")
READ = ("builtin.workspace.read", "filesystem.read", "observe")


@pytest.mark.parametrize(
    ("one", "arguments", "code", "said"),
    [
        pytest.param(
            tool(ECHO[0], TEXT, {}, *ECHO[1:]),
            {"text": 7},
            "schema_violation",
            "arguments of tool probe",
            id="arguments",
        ),
        pytest.param(
            tool(ECHO[0], TEXT, {"type": "object", "required": ["other"]}, *ECHO[1:]),
            {"text": "x"},
            "schema_violation",
            "result of tool probe",
            id="result",
        ),
        pytest.param(
            tool(READ[0], PATH, {"type": "object"}, *READ[1:]),
            {"path": "not-text.bin"},
            "not_utf8",
            "not-text.bin",
            id="not UTF-8",
        ),
        pytest.param(
            tool(READ[0], PATH, {"type": "object"}, *READ[1:]),
            {"path": "large.txt"},
            "file_too_large",
            "large.txt",
            id="too large",
        ),
    ],
)
def test_a07_a_tool_failure_keeps_its_code_its_task_and_its_words(
    desk: Desk, one: JsonObject, arguments: JsonObject, code: str, said: str
) -> None:
    (desk.folder / "not-text.bin").write_bytes(b"\xff\xfe")
    (desk.folder / "large.txt").write_bytes(b"x" * 1_048_577)
    result = desk.run(desk.file("tool.json", agent_with(one, arguments))).expect(4)
    assert result.at("/error/code") == code
    assert result.at("/error/taskId") == "call"
    assert said in result.text("/error/message")
    seen = desk.inspect(result.text("/error/runId"))
    assert seen.at("/data/tasks/0/error/code") == code
    assert said in seen.text("/data/tasks/0/error/message")
    assert seen.at("/data/effects/0/status") == "succeeded"
