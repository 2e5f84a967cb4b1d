"""Runs with effects that may have happened, and short ways to talk about them."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from agentctl import Engine
from agentctl.testing import CrashPoint, SimulatedCrash
from tests.cli.harness import Result, run_cli, run_json
from tests.cli.terminal import talk

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

ANSWER = {
    "text": "said before",
    "toolCalls": [],
    "usage": {"inputTokens": 1, "outputTokens": 2},
    "stopReason": "end_turn",
}


def document(*agents: str, **spec: Any) -> dict[str, Any]:
    """Return a workflow in which agents speak at the same time, and their words are kept."""
    keep = {
        "id": "keep",
        "uses": "action:save",
        "needs": list(agents),
        "with": {"path": "out/said.txt", "content": f"${{{{ tasks.{agents[0]}.output.text }}}}"},
    }
    asking = [{"id": one, "uses": "agent:helper", "with": {"prompt": "hi"}} for one in agents]
    return {
        "apiVersion": "agentctl.dev/v1",
        "kind": "Workflow",
        "metadata": {"name": "doubt"},
        "spec": {
            "policy": {"approval": "never", "writableRoots": ["out"]},
            "runtime": {"maxConcurrency": 4},
            "providers": {"scripted": {"kind": "fake"}},
            "agents": {"helper": helper("said now")},
            "actions": {"save": {"kind": "builtin.write"}, "look": {"kind": "builtin.assign"}},
            "tasks": [*asking, keep],
            **spec,
        },
    }


def helper(text: str, **more: Any) -> dict[str, Any]:
    """Return an agent that says a text."""
    options = {"finalText": text, **more.pop("options", {})}
    made = {"provider": "scripted", "model": "m", "instructions": "Speak."}
    return {**made, "providerOptions": options, **more}


def with_probe(answer: dict[str, Any], mode: str = "manual") -> dict[str, Any]:
    """Return a workflow whose agent calls a tool with a probe; the call is its second effect."""
    tool = {
        "kind": "builtin.echo",
        "description": "Tell somebody.",
        "inputSchema": {"type": "object"},
        "outputSchema": {"type": "object", "required": ["said"]},
        "capability": "tell",
        "risk": "low",
        "effectClass": "external_mutate",
        "idempotency": "at_most_once",
        "probe": {"uses": "action:look", "with": answer, "mode": mode},
    }
    agent = helper("told", tools=["tell"], options={"toolInput": {"said": "x"}})
    return document("ask", agents={"helper": agent}, tools={"tell": tool})


class Case:
    """One database with one run that its process left."""

    def __init__(
        self, folder: Path, source: dict[str, Any], at: int = 2, *, approved: bool = False
    ) -> None:
        self.folder = folder
        self.database = folder / "state.db"
        self.run_id = ""
        if approved:
            self._approve(source)
        crash = CrashPoint(at=at)
        with Engine(self.database, workspace=folder, wrap_store=crash.watch) as engine:
            go = partial(engine.resume_sync, self.run_id)
            if not approved:
                go = partial(engine.start_sync, engine.load(source))
            with pytest.raises(SimulatedCrash):
                go()
            (run,) = engine.store.list_runs()
        self.run_id = run.id

    def _approve(self, source: dict[str, Any]) -> None:
        """Run up to the first question, and answer it."""
        with Engine(self.database, workspace=self.folder) as engine:
            self.run_id = engine.start_sync(engine.load(source)).run_id
            (approval,) = engine.history(self.run_id).approvals
            engine.decide_approval(approval.id, approve=True, actor="ada")

    def cli(self, *args: str) -> Result:
        """Run the program for people."""
        return run_cli(*args, "--db", "state.db", cwd=self.folder)

    def json(self, *args: str) -> Result:
        """Run the program for programs."""
        return run_json(*args, "--db", "state.db", cwd=self.folder)

    def effect(self, place: int = 0) -> str:
        """Return the id of one of the run's effects."""
        return self.json("effects", "list", self.run_id).text(f"/data/{place}/request/id")

    def states(self) -> list[str]:
        """Return what was found out about each effect, by its name."""
        found = self.json("inspect", self.run_id).items("/data/effectReconciliations")
        return [f"{one['effectName']} {one['status']}" for one in found]

    def write(self, name: str, value: object) -> str:
        """Write a JSON file and return its name."""
        (self.folder / name).write_text(json.dumps(value), encoding="utf-8")
        return name

    def talk(self, *args: str, answers: Sequence[tuple[str, str | bytes]]) -> tuple[int, str]:
        """Run the program on a terminal: wait for each text, then type what belongs to it."""
        return talk(self.folder, *args, "--db", "state.db", answers=answers)
