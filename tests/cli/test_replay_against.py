"""Whether other code would still produce a recorded history: the question that CI asks."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any

import pytest

from tests.cli.harness import EXAMPLES, Result, run_cli, run_json
from tests.cli.test_artifact_journeys import FIXTURE, VERDICT, mock_tool
from tests.cli.test_journeys import Desk, workflow

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

Body = dict[str, Any]
V1 = EXAMPLES / "v1"


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """Return a fresh folder with a database."""
    return Desk(tmp_path)


def call(desk: Desk, *words: object) -> Result:
    """Run a command on the desk's database."""
    return run_json(*map(str, words), "--db", str(desk.db))


def report(desk: Desk) -> str:
    """Run an agent with a tool whose text is written to a file; return the run."""
    for folder in ("fixture", "artifacts"):
        (desk.folder / folder).mkdir()
    shutil.copy(FIXTURE, desk.folder / "fixture")
    return desk.run(desk.file("report.json", mock_tool())).expect(0).text("/data/runId")


def edited(desk: Desk, change: Callable[[Body], object]) -> Path:
    """Write the reporting workflow with a change."""
    body: Body = mock_tool()
    change(body["spec"])
    return desk.file("edited.json", body)


@pytest.mark.parametrize(
    "name",
    [
        "dataflow",
        "loop",
        "matrix",
        "parallel",
        "router",
        "streaming",
        "structured-handoff",
        "subworkflow",
    ],
)
def test_the_same_workflow_produces_the_same_history(desk: Desk, name: str) -> None:
    file = V1 / f"{name}.yaml"
    run_id = desk.run(file, workspace=V1).expect(0).text("/data/runId")
    effects = len(desk.inspect(run_id).items("/data/effects"))
    found = call(desk, "replay", run_id, "--against", file).expect(0)
    assert (found.at("/kind"), found.at("/data/same")) == ("ReplayComparison", True)
    assert found.at("/data/effects") == effects
    assert found.at("/data/tasks") == len(desk.inspect(run_id).items("/data/tasks"))
    assert len(call(desk, "runs").items("/data")) == 1


def test_an_exported_run_is_compared_without_its_database(desk: Desk) -> None:
    run_id = report(desk)
    export = desk.folder / "run.jsonl"
    call(desk, "export", run_id, export).expect(0)
    elsewhere = desk.folder / "ci"
    elsewhere.mkdir()
    moved = export.rename(elsewhere / "run.jsonl")
    desk.db.unlink()
    same = edited(desk, lambda _: None).rename(elsewhere / "same.json")
    found = run_json("replay", "--file", str(moved), "--against", str(same), cwd=elsewhere)
    assert found.expect(0).at("/data/runId") == run_id
    other = edited(desk, lambda spec: spec["agents"]["reader"].update(instructions="Hurry."))
    differs = run_json("replay", "--file", str(moved), "--against", str(other), cwd=elsewhere)
    assert differs.expect(4).at("/error/code") == "history_differs"
    assert sorted(one.name for one in elsewhere.iterdir()) == ["run.jsonl", "same.json"]


def test_the_first_request_that_is_another_one_is_shown_with_both_sides(desk: Desk) -> None:
    run_id = report(desk)
    other = edited(desk, lambda spec: spec["tasks"][1]["with"].update(path="artifacts/b.txt"))
    found = call(desk, "replay", run_id, "--against", other).expect(4)
    assert found.at("/data/same") is False
    first = found.at("/data/first")
    assert isinstance(first, dict)
    assert (first["taskId"], first["what"]) == ("report", "request")
    assert first["differences"] == [
        {"place": "input.path", "recorded": "artifacts/mock-report.txt", "now": "artifacts/b.txt"}
    ]
    assert not (desk.folder / "artifacts" / "b.txt").exists()
    human = run_cli("replay", run_id, "--against", str(other), "--db", str(desk.db)).expect(4)
    assert (
        "first difference: task report asks for something else: "
        'input.path: recorded "artifacts/mock-report.txt", now "artifacts/b.txt"'
    ) in human.stdout


def insert(spec: Body) -> None:
    """Insert a task before the last one."""
    spec["actions"]["assign"] = {"kind": "builtin.assign"}
    spec["tasks"].insert(1, {"id": "new", "uses": "action:assign", "with": {"value": 1}})


def remove(spec: Body) -> None:
    """Remove the last task."""
    del spec["tasks"][1]


def ask(spec: Body) -> None:
    """Ask a person before a file is written."""
    spec["policy"]["approval"] = "mutations"


def narrow(spec: Body) -> None:
    """Refuse the recorded output of the agent."""
    spec["tasks"][0]["outputSchema"] = {"type": "object", "required": ["verdict"]}


def drop_tool(spec: Body) -> None:
    """Take the agent's tool away."""
    spec["agents"]["reader"]["tools"] = []
    del spec["agents"]["reader"]["providerOptions"]["toolInput"]


def rename_output(spec: Body) -> None:
    """Give the run another output."""
    spec["outputs"] = {"answer": "${{ tasks.inspect.output.text }}"}


@pytest.mark.parametrize(
    ("change", "task_id", "what"),
    [
        (insert, "new", "inserted"),
        (remove, "report", "removed"),
        (ask, "report", "approval"),
        (narrow, "inspect", "outcome"),
        (drop_tool, "inspect", "request"),
        (rename_output, None, "run"),
    ],
)
def test_each_kind_of_difference_has_its_name(
    desk: Desk, change: Callable[[Body], None], task_id: str | None, what: str
) -> None:
    run_id = report(desk)
    found = call(desk, "replay", run_id, "--against", edited(desk, change)).expect(4)
    assert found.at("/data/first/taskId") == task_id
    assert found.at("/data/first/what") == what


def limit(spec: Body) -> None:
    """Change how long and how often, and what a person reads."""
    spec["tasks"][0].update(timeoutSeconds=77, retry={"maxAttempts": 3})
    spec["agents"]["reader"]["description"] = "reads"
    spec["runtime"] = {"defaultTimeoutSeconds": 99}


def test_limits_that_were_not_reached_make_no_difference(desk: Desk) -> None:
    run_id = report(desk)
    call(desk, "replay", run_id, "--against", edited(desk, limit)).expect(0)


def flow(*tasks: Body, **spec: Any) -> Body:
    """Return a workflow of plain actions."""
    actions = {
        "assign": {"kind": "builtin.assign"},
        "assert": {"kind": "builtin.assert"},
        "read": {"kind": "builtin.read"},
        "remember": {"kind": "builtin.memory.write"},
        "recall": {"kind": "builtin.memory.read"},
        "write": {"kind": "builtin.write"},
    }
    policy = {"approval": "never", "writableRoots": ["."]}
    listed: Body = {"policy": policy, "actions": actions, "tasks": list(tasks), **spec}
    return workflow(listed)


def test_failures_attempts_and_what_they_stopped_are_compared(desk: Desk) -> None:
    missing = {
        "id": "missing",
        "uses": "action:read",
        "with": {"path": "nothing.txt"},
        "retry": {"maxAttempts": 3},
    }
    after = {"id": "after", "uses": "action:assign", "needs": ["missing"], "with": {"value": 1}}
    file = desk.file("fails.json", flow(missing, after))
    run_id = desk.run(file).expect(4).text("/error/runId")
    same = call(desk, "replay", run_id, "--against", file).expect(0)
    assert same.at("/data/effects") == 3
    for attempts in (2, 4):
        missing["retry"] = {"maxAttempts": attempts}
        other = desk.file("other.json", flow(missing, after))
        found = call(desk, "replay", run_id, "--against", other).expect(4)
        assert found.at("/data/first/taskId") == "missing"
        assert found.at("/data/first/what") == "outcome"
        assert found.items("/data/first/differences")[0] == {
            "place": "attempt",
            "recorded": 3,
            "now": attempts,
        }


def approved(desk: Desk, answer: str) -> tuple[Path, str]:
    """Return the file of a run whose one write was answered, while another task went on."""
    ask = {"id": "ask", "uses": "action:write", "with": {"path": "a.txt", "content": "x"}}
    note: Body = {
        "id": "note",
        "uses": "action:remember",
        "needs": ["ask"],
        "with": {"key": "k", "value": 2},
        "memoryWrites": ["k"],
    }
    look = {"id": "look", "uses": "action:recall", "with": {"key": "k"}}
    last: Body = {
        "id": "last",
        "uses": "action:assign",
        "needs": ["note", "look"],
        "with": {"value": 1},
    }
    body = flow(ask, note, look, last, memory={"working": {"k": 1}})
    body["spec"]["policy"]["approval"] = "mutations"
    file = desk.file("ask.json", body)
    run_id = desk.run(file).expect(3).text("/data/runId")
    (asked,) = desk.inspect(run_id).items("/data/approvals")
    call(desk, "replay", run_id, "--against", file).expect(0)
    call(desk, "approvals", answer, asked["approvalId"], "--reason", "seen").expect(0)
    desk.on("resume", run_id)
    return file, run_id


@pytest.mark.parametrize("answer", ["approve", "reject"])
def test_answers_of_people_are_part_of_the_history(desk: Desk, answer: str) -> None:
    file, run_id = approved(desk, answer)
    state = {"approve": "succeeded", "reject": "failed"}[answer]
    assert desk.inspect(run_id).at("/data/run/state") == state
    found = call(desk, "replay", run_id, "--against", file).expect(0)
    assert found.at("/data/effects") == 1


def test_a_run_that_took_tasks_over_is_compared_with_them(desk: Desk) -> None:
    file = V1 / "structured-handoff.yaml"
    run_id = desk.run(file, workspace=V1).expect(0).text("/data/runId")
    retried = call(
        desk, "retry", file, run_id, "--from", "review", "--restart-successful", "--workspace", V1
    )
    made = retried.expect(0).text("/data/runId")
    call(desk, "replay", made, "--against", file).expect(0)
    changed = desk.folder / "changed.yaml"
    text = file.read_text(encoding="utf-8")
    changed.write_text(text.replace("Review only", "Look only at"), encoding="utf-8")
    found = call(desk, "replay", made, "--against", changed).expect(4)
    assert found.at("/data/first/taskId") == "review"


def test_a_copy_is_compared_through_its_source(desk: Desk) -> None:
    run_id = report(desk)
    copy = call(desk, "replay", run_id).expect(0).text("/data/runId")
    refused = call(desk, "replay", copy, "--against", desk.folder / "report.json").expect(3)
    assert refused.at("/error/help") == (
        f"compare its source: agentctl replay {run_id} --against FILE"
    )


def test_what_cannot_be_compared_is_said(desk: Desk) -> None:
    run_id = report(desk)
    call(desk, "replay").expect(2)
    call(desk, "replay", "--file", desk.folder / "nothing").expect(2)
    call(desk, "replay", run_id, "--against", desk.folder / "nothing.yaml").expect(2)
    broken = edited(desk, lambda spec: spec["tasks"][0].update(uses="agent:rader"))
    shown = call(desk, "replay", run_id, "--against", broken).expect(2)
    assert shown.items("/diagnostics")[0]["code"] == "missing_reference"


def test_secrets_and_values_stay_in_the_record(desk: Desk) -> None:
    run_id = report(desk)
    found = call(desk, "replay", run_id, "--against", desk.folder / "report.json").expect(0)
    assert VERDICT not in json.dumps(found.document)
