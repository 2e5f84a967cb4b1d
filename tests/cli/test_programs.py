"""Programs as a user meets them: the real CLI, real signals, the project's own example."""

from __future__ import annotations

import os
import signal
import sys
from typing import TYPE_CHECKING, cast

import pytest

from tests.cli.harness import ROOT, finish, run_json, start_cli
from tests.cli.test_journeys import Desk
from tests.effects.bounded import is_alive

if TYPE_CHECKING:
    from pathlib import Path

    from agentctl.jsonvalue import JsonObject, JsonValue

PYTHON = os.path.basename(sys.executable)


def workflow(script: str, *, name: str = PYTHON, **action: JsonValue) -> JsonObject:
    """Return a workflow of one program, a few lines of Python."""
    act: JsonObject = {
        "kind": "builtin.shell.exec",
        "command": sys.executable,
        "args": ["-c", script],
        **action,
    }
    return {
        "apiVersion": "agentctl.dev/v1",
        "kind": "Workflow",
        "metadata": {"name": "programs"},
        "spec": {
            "policy": {"approval": "never", "processAllowlist": [name]},
            "actions": {"act": act},
            "tasks": [{"id": "it", "uses": "action:act"}],
        },
    }


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """Return a fresh folder with a database."""
    return Desk(tmp_path)


def test_the_example_with_two_extensions_runs(desk: Desk) -> None:
    folder = ROOT / "examples" / "extension"
    path = f"{os.path.dirname(sys.executable)}:{os.environ['PATH']}"
    args = ("run", str(folder / "workflow.yaml"), "--workspace", str(folder))
    ran = run_json(*args, "--db", str(desk.db), env={"PATH": path}).expect(0)
    assert ran.at("/data/output") == {"text": "SMALL WORDS", "words": 2}


def test_isolation_that_the_machine_cannot_give_leaves_no_effect(desk: Desk) -> None:
    box: JsonObject = {"image": "sha256:" + "0" * 64, "runtime": "docker"}
    body = workflow("print()", isolation="container", container=box)
    file = desk.file("isolated.yaml", body)
    (desk.folder / "empty").mkdir()
    args = ("run", str(file), "--workspace", str(desk.folder), "--db", str(desk.db))
    ran = run_json(*args, env={"PATH": str(desk.folder / "empty")}).expect(4)
    assert "requested process isolation is unavailable" in ran.text("/error/message")
    seen = run_json("inspect", ran.text("/error/runId"), "--db", str(desk.db)).expect(0)
    assert seen.at("/data/effects") == []


def test_a_signal_to_the_run_ends_the_whole_tree_of_its_program(desk: Desk) -> None:
    script = (
        "import os, time\n"
        "if os.fork() == 0: os.setsid()\n"
        "open(f'pid-{os.getpid()}', 'w').close()\n"
        "time.sleep(3600)"
    )
    file = desk.file("tree.yaml", workflow(script))
    args = ("run", str(file), "--workspace", str(desk.folder), "--db", str(desk.db))
    process = start_cli(*args, "--output", "json")
    while len(pids := list(desk.folder.glob("pid-*"))) < 2:
        assert process.poll() is None
    process.send_signal(signal.SIGTERM)
    ended = finish(process, *args).expect(130)
    assert not any(is_alive(int(one.name.removeprefix("pid-"))) for one in pids)
    run_id = ended.text("/data/runId")
    (effect,) = run_json("inspect", run_id, "--db", str(desk.db)).items("/data/effects")
    assert effect["status"] == "uncertain"
    assert "pid" in cast("JsonObject", cast("JsonObject", effect["error"])["detail"])


def test_a_killed_run_kills_its_program_and_leaves_doubt(desk: Desk) -> None:
    script = "import os, time; open(f'pid-{os.getpid()}', 'w').close(); time.sleep(3600)"
    file = desk.file("lost.yaml", workflow(script))
    args = ("run", str(file), "--workspace", str(desk.folder), "--db", str(desk.db))
    process = start_cli(*args, "--output", "json")
    while not (pids := list(desk.folder.glob("pid-*"))):
        assert process.poll() is None
    process.kill()
    process.communicate()
    (run,) = run_json("runs", "--db", str(desk.db)).expect(0).items("/data")
    resumed = run_json("resume", str(run["runId"]), "--db", str(desk.db)).expect(3)
    assert resumed.at("/data/tasks") == {"waiting_for_effect": 1}
    pid = int(pids[0].name.removeprefix("pid-"))
    while is_alive(pid):
        os.sched_yield()


def test_an_input_that_a_shell_action_has_not_is_named_with_its_place(desk: Desk) -> None:
    body = workflow("print()")
    tasks = cast("list[JsonObject]", cast("JsonObject", body["spec"])["tasks"])
    tasks[0]["with"] = {"arg": ["x"], "command": "/bin/sh"}
    checked = run_json("check", str(desk.file("bad.yaml", body))).expect(2)
    first, second = checked.items("/diagnostics")
    assert (first["code"], first["path"]) == ("schema_violation", "spec.tasks[0].with.arg")
    assert "args" in str(first["help"])
    assert (second["code"], second["path"]) == ("policy_denied", "spec.tasks[0].with.command")
