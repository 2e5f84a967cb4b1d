"""Runs that many processes bring forward: questions in a loop, crashes, a database that is busy."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from tests.cli.harness import environment, run_json
from tests.cli.test_approvals import Desk
from tests.cli.test_resume_all import crashed

if TYPE_CHECKING:
    from pathlib import Path

    from agentctl.jsonvalue import JsonObject

ROUNDS = 3
CRASHED = 50
LOOP: JsonObject = {
    "maxIterations": ROUNDS + 1,
    "while": f"${{{{ vars.loopIndex < {ROUNDS} }}}}",
}
HELD_SECONDS = 6
# It keeps the write lock for a while, and needs a clock of its own for that alone.
HOLDER = """
import select, sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("BEGIN IMMEDIATE")
print("held", flush=True)
select.select([sys.stdin], [], [], float(sys.argv[2]))
connection.execute("ROLLBACK")
"""
APPEND = "import sys; open('lines.txt', 'a').write('line\\n')"


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """Return a fresh folder."""
    return Desk(tmp_path)


def answer_each(desk: Desk, run_id: str) -> list[str]:
    """Answer the one open question in one process, and go on in another, until the run is over."""
    states = []
    for _ in range(ROUNDS):
        desk.decide(run_id, "approve").expect(0)
        gone_on = desk.json("resume", run_id)
        states.append(gone_on.text("/data/state"))
    return states


def effects(desk: Desk, run_id: str) -> list[Any]:
    """Return the effects of a run."""
    return desk.json("inspect", run_id).expect(0).items("/data/effects")


def test_a_loop_of_three_questions_takes_three_answers_and_adds_three_lines(desk: Desk) -> None:
    append: JsonObject = {
        "kind": "builtin.shell.exec",
        "command": sys.executable,
        "args": ["-c", APPEND],
    }
    policy = {"processAllowlist": [sys.executable.rpartition("/")[2]], "writableRoots": ["."]}
    file = desk.workflow(
        {"id": "again", "uses": "action:append", "loop": LOOP},
        policy=policy,
        actions={"append": append},
    )
    run_id = desk.parked(file)
    assert answer_each(desk, run_id) == ["paused", "paused", "succeeded"]
    assert (desk.folder / "lines.txt").read_text(encoding="utf-8") == "line\n" * ROUNDS
    assert [one["dispatches"] for one in effects(desk, run_id)] == [1] * ROUNDS


def test_the_effect_before_each_question_is_not_repeated_by_the_answer(desk: Desk) -> None:
    """Each round asks a model, whose answer was stored before its tool's question was."""
    tool = {
        "kind": "builtin.workspace.write",
        "description": "writes",
        "inputSchema": {"type": "object"},
        "outputSchema": {"type": "object"},
        "capability": "filesystem.write",
        "risk": "high",
        "effectClass": "workspace_mutate",
        "idempotency": "idempotent",
        "retrySafe": True,
        "timeoutSeconds": 5,
        "secrets": [],
        "network": [],
        "approval": "always",
    }
    agent = {
        "provider": "fake",
        "model": "m",
        "instructions": "write",
        "tools": ["write"],
        "providerOptions": {
            "toolInput": {"path": "artifacts/x.txt", "content": "x"},
            "finalText": "written",
        },
    }
    file = desk.workflow(
        {"id": "again", "uses": "agent:writer", "with": {"prompt": "go"}, "loop": LOOP},
        policy={"approval": "never"},
        providers={"fake": {"kind": "fake"}},
        agents={"writer": agent},
        tools={"write": tool},
    )
    run_id = desk.parked(file)
    asked = [one["request"]["operation"] for one in effects(desk, run_id)]
    assert asked == ["model.fake", "builtin.workspace.write"]
    assert answer_each(desk, run_id) == ["paused", "paused", "succeeded"]
    found = effects(desk, run_id)
    round_of = ["model.fake", "builtin.workspace.write", "model.fake"]
    assert [one["request"]["operation"] for one in found] == round_of * ROUNDS
    assert {one["dispatches"] for one in found} == {1}


def test_fifty_crashed_runs_go_on_though_another_process_holds_the_database(
    tmp_path: Path,
) -> None:
    ids = crashed(tmp_path, CRASHED)
    db = tmp_path / "state.db"
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(db), str(HELD_SECONDS)],
        env=environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        found = run_json("resume", "--all", "--db", str(db)).expect(0)
        assert holder.wait() == 0
    assert [one["runId"] for one in found.items("/data/runs")] == ids[::-1]
    assert {one["state"] for one in found.items("/data/runs")} == {"succeeded"}
    assert found.at("/data/couldNot") == []
