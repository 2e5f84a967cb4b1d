"""Destinations are checked before anything of a run is stored."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.cli.harness import run_json

if TYPE_CHECKING:
    from pathlib import Path


def denied(folder: Path, spec: dict[str, Any]) -> str:
    """Run a workflow that must be refused, and return why."""
    body = {
        "apiVersion": "agentctl.dev/v1",
        "kind": "Workflow",
        "metadata": {"name": "private"},
        "spec": {"policy": {"networkAllowlist": ["127.0.0.1"], "approval": "never"}, **spec},
    }
    file, db = folder / "private.yaml", folder / "run.db"
    file.write_text(json.dumps(body), encoding="utf-8")
    result = run_json("run", str(file), "--workspace", str(folder), "--db", str(db)).expect(3)
    assert not db.exists()
    return result.text("/error/message")


@pytest.mark.parametrize(
    "spec",
    [
        {
            "mcpServers": {"local": {"url": "http://127.0.0.1:9/mcp"}},
            "actions": {"call": {"kind": "mcp.call"}},
            "tasks": [
                {
                    "id": "call",
                    "uses": "action:call",
                    "with": {"server": "local", "tool": "echo", "arguments": {}},
                }
            ],
        },
        {
            "providers": {"p": {"kind": "openai_compatible", "endpoint": "http://127.0.0.1:9"}},
            "agents": {"a": {"provider": "p", "model": "m", "instructions": "hi"}},
            "tasks": [{"id": "ask", "uses": "agent:a", "with": {"prompt": "hi"}}],
        },
    ],
)
def test_a_private_address_is_refused_without_a_database(
    tmp_path: Path, spec: dict[str, Any]
) -> None:
    assert "network address is not authorized" in denied(tmp_path, spec)
