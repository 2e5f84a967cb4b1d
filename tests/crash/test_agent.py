"""An agent task that is killed in each of its phases, against what its server was really asked.

Each case is a real process, a real SIGKILL, and resumes by new processes until the run is over.
The agent asks its model, makes the two calls that the answer wants, and asks again with their
results.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from attr import define, field

from agentctl import Engine
from agentctl.store.verify import verify_run
from tests.cli.harness import run_json
from tests.crash import agent_worker
from tests.crash.matrix_worker import lines
from tests.effects.models.dialects import DIALECTS
from tests.effects.models.server import Reply, ScriptedServer, json_reply, serving, stream_reply

if TYPE_CHECKING:
    from agentctl.engine.records import EffectRecord

WORKER = Path(agent_worker.__file__)
ROOT = WORKER.parents[2]
PATHS = ("out/a", "out/b")


def _call(number: int, path: str) -> dict[str, Any]:
    arguments = {"path": path, "content": path}
    return {"type": "tool_use", "id": f"c{number}", "name": "save", "input": arguments}


CALLS = {
    **DIALECTS["anthropic"].text(""),
    "content": [{"type": "text", "text": "Saving."}, *map(_call, (1, 2), PATHS)],
    "stop_reason": "tool_use",
}
DONE = DIALECTS["anthropic"].text("saved")
# What an operator finds in the provider's own log of answers, in the contract's form.
FOUND: tuple[dict[str, Any], ...] = (
    {
        "text": "Saving.",
        "toolCalls": [
            {"id": one["id"], "name": "save", "arguments": one["input"]}
            for one in CALLS["content"][1:]
        ],
        "usage": {"inputTokens": 12, "outputTokens": 5},
        "stopReason": "tool_use",
    },
    {
        "text": "saved",
        "toolCalls": [],
        "usage": {"inputTokens": 12, "outputTokens": 5},
        "stopReason": "end_turn",
    },
)

# Where it dies, and what is in doubt then. The first commit is the look around's; without a
# stream every later one holds the result before it and the request after it.
PHASES: dict[str, tuple[str, tuple[str, str] | None]] = {
    "before the request is recorded": ("before:2", None),
    "before the request is sent": ("after:2", ("ask/1.0", "not-applied")),
    "while the first answer streams": ("stream:0", ("ask/1.0", "applied")),
    "after the answer and before its record": ("before:3", ("ask/1.0", "applied")),
    "after the record and before the first call": ("after:3", ("ask/1.1", "not-applied")),
    "in the first call": ("tool:1", ("ask/1.1", "applied")),
    "between the calls": ("after:4", ("ask/1.2", "not-applied")),
    "in the second call": ("tool:2", ("ask/1.2", "applied")),
    "before the second request is sent": ("after:5", ("ask/1.3", "not-applied")),
    "while the second answer streams": ("stream:1", ("ask/1.3", "applied")),
    "after the second answer and before its record": ("before:6", ("ask/1.3", "applied")),
    "after the record of the second answer": ("after:6", None),
}


@define
class Scene:
    """One folder, one server, and the processes of one run."""

    folder: Path
    server: ScriptedServer
    settled: list[tuple[str, str]] = field(factory=list)
    found: tuple[dict[str, Any], ...] = FOUND

    def work(self, command: str, point: str = "none") -> int:
        """Run the worker in a process of its own and return how it ended."""
        ended = subprocess.run(
            [sys.executable, str(WORKER), str(self.folder), command, point, self.server.url],
            check=False,
            capture_output=True,
            text=True,
            timeout=60,
            env={**os.environ, "PYTHONPATH": str(ROOT), "ANTHROPIC_API_KEY": "k"},
        )
        assert ended.returncode in (0, 3, 4, -signal.SIGKILL), ended.stderr
        return ended.returncode

    def effects(self) -> dict[str, EffectRecord]:
        """Return the agent's effects by name, of a journal that holds."""
        with Engine(self.folder / "state.db") as engine:
            (run,) = engine.store.list_runs()
            assert verify_run(engine.store, run.id) == []
            return {
                one.name: one for one in engine.history(run.id).effects if one.task_id == "ask"
            }

    def finish(self) -> None:
        """Resume until the run is over, settling by what the outside shows."""
        while not self.is_over() and self.work("resume") == 3:
            (name,) = [n for n, one in self.effects().items() if self._is_open(n, one)]
            self._settle(name)

    def is_over(self) -> bool:
        """Return whether the run has succeeded."""
        with Engine(self.folder / "state.db") as engine:
            (run,) = engine.store.list_runs()
        return run.state == "succeeded"

    def _is_open(self, name: str, effect: EffectRecord) -> bool:
        return effect.state == "uncertain" and name not in dict(self.settled)

    def _settle(self, name: str) -> None:
        ordinal = int(name.rpartition(".")[2])
        result = self._evidence(ordinal)
        found = "not-applied" if result is None else "applied"
        (self.folder / "result.json").write_text(json.dumps(result), encoding="utf-8")
        given = () if result is None else ("--result-file", "result.json")
        with Engine(self.folder / "state.db") as engine:
            (run,) = engine.store.list_runs()
        run_json(
            *("effects", "reconcile", run.id, name, "--status", found, *given),
            *("--reason", "looked outside", "--db", "state.db"),
            cwd=self.folder,
        ).expect(0)
        self.settled.append((name, found))

    def _evidence(self, ordinal: int) -> dict[str, Any] | None:
        """Return what an effect came to, as the outside shows it, or None."""
        if ordinal in (1, 2):
            path = PATHS[ordinal - 1]
            return {"path": path} if (self.folder / path).exists() else None
        answer = 0 if ordinal == 0 else 1
        return self.found[answer] if len(self.server.asked) > answer else None

    def require_nothing_repeated(self) -> None:
        """Hold the server's log and the tool's against a run that was never killed."""
        assert lines(self.folder / "calls.txt") == list(PATHS)
        first, second = (one.body["messages"] for one in self.server.asked)
        assert first == second[:1]
        user, said, results = second
        assert (user["role"], said["role"], results["role"]) == ("user", "assistant", "user")
        wanted = [one["id"] for one in said["content"] if one["type"] == "tool_use"]
        assert wanted == ["c1", "c2"]
        assert [one["tool_use_id"] for one in results["content"]] == wanted


def replies(folder: Path, point: str) -> list[Reply]:
    """Return both answers; one in whose stream it dies kills the process that reads it."""
    kind, _, number = point.partition(":")
    if kind != "stream":
        return [json_reply(CALLS), json_reply(DONE)]
    streams = [DIALECTS["anthropic"].stream(one) for one in (CALLS, DONE)]
    middle = len(streams[int(number)]) // 2

    def kill_reader(index: int) -> None:
        if index == middle:
            os.kill(int((folder / "pid").read_text(encoding="utf-8")), signal.SIGKILL)

    return [
        stream_reply(*one, before_piece=kill_reader if at == int(number) else None)
        for at, one in enumerate(streams)
    ]


@pytest.mark.parametrize("phase", PHASES)
def test_a_killed_agent_goes_on_without_repeating_a_call(tmp_path: Path, phase: str) -> None:
    point, doubt = PHASES[phase]
    (tmp_path / "out").mkdir()
    with serving(*replies(tmp_path, point)) as server:
        scene = Scene(tmp_path, server)
        assert scene.work("run", point) == -signal.SIGKILL
        scene.finish()
    assert scene.settled == ([doubt] if doubt else [])
    scene.require_nothing_repeated()
    with Engine(tmp_path / "state.db") as engine:
        (run,) = engine.store.list_runs()
        assert (run.state, run.output) == ("succeeded", {"text": "saved"})


def test_an_answer_that_a_person_gives_may_not_use_the_id_of_a_call_again(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    with serving(json_reply(CALLS), json_reply(DONE)) as server:
        scene = Scene(tmp_path, server, found=(FOUND[0], FOUND[0]))
        assert scene.work("run", "before:6") == -signal.SIGKILL
        scene.finish()
    assert scene.settled == [("ask/1.3", "applied")]
    assert lines(tmp_path / "calls.txt") == list(PATHS)
    with Engine(tmp_path / "state.db") as engine:
        (run,) = engine.store.list_runs()
        (task,) = [one for one in engine.history(run.id).tasks if one.id == "ask"]
    assert run.state == "failed"
    assert isinstance(task.error, dict)
    assert task.error["code"] == "invalid_provider_answer"
