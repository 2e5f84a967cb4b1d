"""A process that runs or resumes one agent task and is killed at one exact point of its life.

    python agent_worker.py FOLDER run|resume POINT ENDPOINT

POINT is `none`, `stream:N` (whoever serves the N-th answer kills this process), `before:N` or `after:N` around the N-th commit, or `tool:N` when the N-th call of
the tool has done its work. `FOLDER/calls.txt` gets a line whenever the tool is entered.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from agentctl import Engine
from agentctl.effects import files
from agentctl.testing import CrashPoint
from tests.crash.matrix_worker import append, kill, lines

if TYPE_CHECKING:
    from agentctl.engine.ports import EffectContext
    from agentctl.engine.records import EffectRecord
    from agentctl.jsonvalue import JsonValue

SAVE: dict[str, Any] = {
    "kind": "builtin.workspace.write",
    "description": "Writes one file.",
    "inputSchema": {
        "type": "object",
        "required": ["path", "content"],
        "additionalProperties": False,
        "properties": {"path": {"type": "string"}, "content": {"type": "string"}},
    },
    "outputSchema": {"type": "object", "required": ["path"]},
    "capability": "filesystem.write",
    "risk": "medium",
    "effectClass": "workspace_mutate",
    "idempotency": "at_most_once",
    "timeoutSeconds": 5,
    "approval": "never",
}


def document(endpoint: str, *, stream: bool) -> dict[str, Any]:
    """Return a look around, which takes the first commit, and an agent that saves files."""
    agent = {
        "provider": "p",
        "model": "m-1",
        "instructions": "Save.",
        "tools": ["save"],
        "stream": stream,
    }
    return {
        "apiVersion": "agentctl.dev/v1",
        "kind": "Workflow",
        "metadata": {"name": "agent"},
        "spec": {
            "policy": {
                "approval": "never",
                "writableRoots": ["out"],
                "networkAllowlist": ["127.0.0.1"],
                "network": {"allowPrivate": True},
            },
            "providers": {"p": {"kind": "anthropic", "endpoint": endpoint}},
            "agents": {"a": agent},
            "tools": {"save": SAVE},
            "tasks": [
                {"id": "look", "uses": "action:look"},
                {"id": "ask", "uses": "agent:a", "needs": ["look"], "with": {"prompt": "go"}},
            ],
            "outputs": {"text": "${{ tasks.ask.output.text }}"},
        },
    }


def watch_tool(folder: Path, fatal: int) -> None:
    """Note every call of the tool, and die when the fatal one has done its work."""
    original = files.WriteFileTool.execute

    async def execute(
        self: files.WriteFileTool, effect: EffectRecord, context: EffectContext
    ) -> JsonValue:
        append(folder / "calls.txt", cast("dict[str, str]", effect.input)["path"])
        result = await original(self, effect, context)
        if len(lines(folder / "calls.txt")) == fatal:
            kill()
        return result

    files.WriteFileTool.execute = execute  # type: ignore[method-assign]


def main() -> None:
    """Run or resume; the exit code is the run's."""
    folder, (command, point, endpoint) = Path(sys.argv[1]), sys.argv[2:]
    (folder / "pid").write_text(str(os.getpid()), encoding="utf-8")
    kind, _, number = point.partition(":")
    watch_tool(folder, int(number) if kind == "tool" else 0)
    at = int(number) if kind in ("before", "after") else 0
    crash = CrashPoint(at=at, after=kind == "after", crash=kill)
    with Engine(folder / "state.db", workspace=folder, wrap_store=crash.watch) as engine:

        @engine.action("look", idempotency="pure")
        async def look() -> dict[str, bool]:
            return {}

        if command == "run":
            outcome = engine.start_sync(engine.load(document(endpoint, stream=kind == "stream")))
        else:
            (run,) = engine.store.list_runs()
            outcome = engine.resume_sync(run.id)
    sys.exit(outcome.exit_code)


if __name__ == "__main__":
    main()
