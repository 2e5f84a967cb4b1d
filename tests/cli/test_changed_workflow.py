"""A workflow file that changes while a run of it waits: what the operator is told and offered."""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING, Any, cast

import pytest

from agentctl import Engine
from tests.cli.harness import Result, run_cli, run_json
from tests.cli.test_journeys import Desk

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from agentctl.jsonvalue import JsonObject

Body = dict[str, Any]


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """Return a fresh folder with a database."""
    return Desk(tmp_path)


def assign(name: str, value: object, *needs: str) -> Body:
    """Return a task that gives a value."""
    return {
        "id": name,
        "uses": "action:assign",
        "needs": list(needs),
        "with": {"value": value},
    }


def document() -> Body:
    """Return a workflow that stops for an approval between its first and its last tasks."""
    write = {
        "id": "publish",
        "uses": "action:write",
        "needs": ["first"],
        "with": {"path": "out/it.txt", "content": "recorded"},
    }
    return {
        "apiVersion": "agentctl.dev/v1",
        "kind": "Workflow",
        "metadata": {"name": "parked", "description": "waits"},
        "spec": {
            "policy": {"approval": "mutations", "writableRoots": ["out"]},
            "actions": {"assign": {"kind": "builtin.assign"}, "write": {"kind": "builtin.write"}},
            "tasks": [
                assign("first", 1),
                write,
                assign("left", 2, "publish"),
                assign("right", 3, "publish"),
                assign("last", 4, "left", "right"),
            ],
        },
    }


def parked(desk: Desk) -> tuple[Path, str]:
    """Return the file of a run that was approved and has only to be resumed."""
    file = desk.file("flow.json", document())
    run_id = desk.run(file).expect(3).text("/data/runId")
    (asked,) = desk.inspect(run_id).items("/data/approvals")
    call(desk, "approvals", "approve", str(asked["approvalId"]), "--reason", "read").expect(0)
    return file, run_id


def call(desk: Desk, *words: str) -> Result:
    """Run a command on the desk's database."""
    return run_json(*words, "--db", str(desk.db), cwd=desk.folder)


def edit(file: Path, change: Callable[[Body], None]) -> None:
    """Change a workflow as an editor does."""
    body = json.loads(file.read_text(encoding="utf-8"))
    change(body["spec"])
    file.write_text(json.dumps(body), encoding="utf-8")


def rewrite(spec: Body) -> None:
    """Change one task, insert, remove and reorder others, and change the policy."""
    first, write, left, right, last = spec["tasks"]
    write["with"]["content"] = "of now"
    last["needs"] = ["right", "left"]
    spec["tasks"] = [first, write, right, left, assign("new", 9, "first")]
    spec["policy"]["writableRoots"] = ["out", "more"]


def told(plan: Result) -> dict[str, list[str]]:
    """Return the names of tasks by what became of them."""
    found: dict[str, list[str]] = {}
    for one in plan.items("/data/tasks"):
        found.setdefault(cast("str", one["change"]), []).append(cast("str", one["taskId"]))
    return found


def test_layout_comments_and_descriptions_change_nothing(desk: Desk) -> None:
    file, run_id = parked(desk)
    body = json.loads(file.read_text(encoding="utf-8"))
    body["metadata"]["description"] = "waits for a person"
    body["spec"]["actions"]["unused"] = {"kind": "builtin.assign"}
    file.write_text(f"# read again\n{json.dumps(body, indent=2)}\n", encoding="utf-8")
    plan = call(desk, "resume", run_id, "--plan").expect(0)
    assert (plan.at("/data/status"), plan.at("/data/compatible")) == ("same", True)
    assert desk.on("resume", run_id).expect(0).text("/data/state") == "succeeded"


def test_every_task_that_changed_is_named_and_the_run_stays_as_it_is(desk: Desk) -> None:
    file, run_id = parked(desk)
    before = desk.inspect(run_id).document
    edit(file, rewrite)
    refused = desk.on("resume", run_id).expect(3)
    assert refused.at("/error/code") == "workflow_changed"
    assert refused.at("/error/runId") == run_id
    message = refused.text("/error/message")
    for words in (
        "task publish changed",
        'input.content: recorded "recorded", now "of now"',
        "task new is new",
        "task last is gone",
        "moved (position: recorded ",
        "policy.writableRoots: ",
    ):
        assert words in message, words
    plan = call(desk, "resume", run_id, "--plan").expect(3)
    found = told(plan)
    assert (found["changed"], found["inserted"], found["removed"]) == (
        ["publish"],
        ["new"],
        ["last"],
    )
    assert found["reordered"] in (["left"], ["right"])
    assert desk.inspect(run_id).document == before
    assert not (desk.folder / "out").exists()
    human = run_cli("resume", run_id, "--plan", "--db", str(desk.db)).expect(3).stdout
    for line in ("  task new is new", f"  agentctl resume {run_id} --keep-plan"):
        assert line in human.splitlines()


def commands(plan: Result, name: str) -> list[list[str]]:
    """Return the words of the commands that a choice offers."""
    (choice,) = (one for one in plan.items("/data/choices") if one["choice"] == name)
    offered = cast("list[str]", choice["commands"])
    return [shlex.split(one)[1:] for one in offered]


@pytest.mark.parametrize("name", ["keep", "repair", "fork"])
def test_each_choice_is_a_command_that_works_as_it_is_told(desk: Desk, name: str) -> None:
    file, run_id = parked(desk)
    edit(file, rewrite)
    plan = call(desk, "resume", run_id, "--plan").expect(3)
    *before, last = commands(plan, name)
    for words in before:
        call(desk, *words).expect(0)
    done = call(desk, *last)
    out = desk.folder / "out" / "it.txt"
    if name == "keep":
        assert done.expect(0).text("/data/runId") == run_id
        assert out.read_text(encoding="utf-8") == "recorded"
        return
    # A new run asks for approval anew, and does what its own plan says.
    made = done.expect(3).text("/data/runId")
    (asked,) = desk.inspect(made).items("/data/approvals")
    call(desk, "approvals", "approve", str(asked["approvalId"])).expect(0)
    resumed = desk.on("resume", made, *(["--keep-plan"] if name == "fork" else [])).expect(0)
    assert resumed.text("/data/mode") == name
    assert out.read_text(encoding="utf-8") == ("of now" if name == "repair" else "recorded")


def test_a_file_that_does_not_compile_is_shown_with_its_problems(desk: Desk) -> None:
    file, run_id = parked(desk)

    def break_it(spec: Body) -> None:
        spec["tasks"][0]["uses"] = "action:asign"

    edit(file, break_it)
    refused = desk.on("resume", run_id).expect(3)
    assert refused.at("/error/code") == "workflow_changed"
    assert "does not compile: 1:" in refused.text("/error/message")
    assert "--keep-plan" in refused.text("/error/help")
    plan = call(desk, "resume", run_id, "--plan").expect(3)
    assert plan.at("/data/status") == "invalid"
    assert plan.items("/data/diagnostics")[0]["code"] == "missing_reference"
    assert commands(plan, "repair")[0] == ["check", str(file)]
    desk.on("resume", run_id, "--keep-plan").expect(0)


def test_a_file_that_is_gone_leaves_the_recorded_plan(desk: Desk) -> None:
    file, run_id = parked(desk)
    file.unlink()
    assert call(desk, "resume", run_id, "--plan").expect(0).at("/data/status") == "missing"
    resumed = run_cli("resume", run_id, "--db", str(desk.db)).expect(0)
    assert f"{file} is gone" in resumed.stderr


def test_resuming_everything_names_the_runs_whose_file_changed(desk: Desk) -> None:
    file, changed = parked(desk)
    body = document()
    other = desk.file("other.json", body)
    unchanged = desk.run(other).expect(3).text("/data/runId")
    (asked,) = desk.inspect(unchanged).items("/data/approvals")
    call(desk, "approvals", "approve", str(asked["approvalId"])).expect(0)
    edit(file, rewrite)
    every = call(desk, "resume", "--all").expect(3)
    assert every.at("/data/couldNot") == [changed]
    turns = {one["runId"]: one for one in every.items("/data/runs")}
    assert turns[changed]["code"] == "workflow_changed"
    assert "--keep-plan" in str(turns[changed]["next"])
    assert turns[unchanged]["result"] == "wentOn"


def test_a_run_that_is_over_has_nothing_to_compare(desk: Desk) -> None:
    file, run_id = parked(desk)
    desk.on("resume", run_id).expect(0)
    edit(file, rewrite)
    assert call(desk, "resume", run_id, "--plan").expect(3).at("/error/code") == "not_now"
    assert desk.on("resume", run_id).expect(3).at("/error/code") == "not_now"
    call(desk, "resume", "--all", "--keep-plan").expect(2)


def test_a_program_that_embeds_agentctl_resumes_the_recorded_plan(desk: Desk) -> None:
    file, run_id = parked(desk)
    edit(file, rewrite)
    with Engine(desk.db) as engine:
        found = engine.changes(run_id)
        assert found.stands_against
        assert {one.task_id for one in found.found.tasks} >= {"publish", "new", "last"}
        assert engine.resume_sync(run_id).state == "succeeded"
    assert (desk.folder / "out" / "it.txt").read_text(encoding="utf-8") == "recorded"


def test_a_run_that_came_as_text_has_no_file_to_compare(desk: Desk) -> None:
    body: JsonObject = document()
    with Engine(desk.db, workspace=desk.folder) as engine:
        outcome = engine.start_sync(engine.load(body))
        assert engine.changes(outcome.run_id).status == "noFile"
        (approval,) = engine.history(outcome.run_id).approvals
        engine.decide_approval(approval.id, approve=True, actor="ada", reason="read")
    resumed = run_cli("resume", outcome.run_id, "--db", str(desk.db)).expect(0)
    assert "was not started from a file" in resumed.stderr
