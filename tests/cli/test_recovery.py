"""Retry, repair and fork as an operator meets them: the real CLI on real files."""

from __future__ import annotations

import sys
from os.path import basename
from typing import TYPE_CHECKING, Any, cast

import pytest

from tests.cli.harness import EXAMPLES, Result, run_cli, run_json
from tests.cli.test_journeys import Desk

if TYPE_CHECKING:
    from pathlib import Path

    from agentctl.jsonvalue import JsonObject

PYTHON = basename(sys.executable)


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """Return a fresh folder with a database."""
    return Desk(tmp_path)


def chain(*steps: tuple[str, str, Any], **spec: Any) -> JsonObject:
    """Return a workflow whose tasks follow one another; each is `(id, action, with)`."""
    tasks = [
        {
            "id": name,
            "uses": f"action:{action}",
            "with": given,
            "needs": [steps[place - 1][0]] if place else [],
        }
        for place, (name, action, given) in enumerate(steps)
    ]
    actions = {
        "assign": {"kind": "builtin.assign"},
        "assert": {"kind": "builtin.assert"},
        "write": {"kind": "builtin.write"},
        **spec.pop("actions", {}),
    }
    policy = {"approval": "never", "writableRoots": ["."], "processAllowlist": [PYTHON]}
    body: dict[str, Any] = {
        "apiVersion": "agentctl.dev/v1",
        "kind": "Workflow",
        "metadata": {"name": "recovery"},
        "spec": {"policy": policy, "actions": actions, "tasks": tasks, **spec},
    }
    return body


def shell(script: str, **action: Any) -> JsonObject:
    """Return an action that runs a few lines of Python."""
    command = {"command": sys.executable, "args": ["-I", "-S", "-c", script]}
    return {"kind": "builtin.shell.exec", **command, **action}


def call(desk: Desk, *args: object) -> Result:
    """Run a command on the desk's database."""
    return run_json(*map(str, args), "--db", str(desk.db))


def dispositions(desk: Desk, run_id: str) -> dict[str, object]:
    """Return how each task of a run came by its output."""
    tasks = call(desk, "inspect", run_id).expect(0).items("/data/tasks")
    return {str(one["taskId"]): one["disposition"] for one in tasks}


def broken_and_fixed(desk: Desk) -> tuple[Path, Path]:
    """Write a chain whose second task fails, and the same with that task repaired."""
    first = ("first", "assign", {"value": "durable"})
    third = ("third", "assign", {"value": "repaired"})
    source = desk.file("source.yaml", chain(first, ("second", "assert", {"that": False}), third))
    target = desk.file("target.yaml", chain(first, ("second", "assert", {"that": True}), third))
    return source, target


def test_a_repair_takes_over_what_serves_again_and_shows_its_lineage(desk: Desk) -> None:
    source, target = broken_and_fixed(desk)
    run_id = desk.run(source).expect(4).text("/error/runId")
    plan = call(desk, "repair", target, run_id, "--from", "second", "--plan").expect(0)
    assert plan.at("/data/compatible") is True
    assert plan.at("/data/reusedTasks") == ["first"]
    assert plan.at("/data/rerunTasks") == ["second", "third"]
    repaired = call(desk, "repair", target, run_id, "--from", "second", "--reason", "mended")
    repaired.expect(0)
    assert repaired.text("/data/sourceRunId") == run_id
    assert repaired.at("/data/reusedTasks") == ["first"]
    new_id = repaired.text("/data/runId")
    seen = call(desk, "inspect", new_id).expect(0)
    assert (seen.at("/data/run/mode"), seen.at("/data/run/sourceRunId")) == ("repair", run_id)
    assert seen.at("/data/run/reason") == "mended"
    assert dispositions(desk, new_id) == {
        "first": "reused",
        "second": "executed",
        "third": "executed",
    }
    assert seen.at("/data/tasks/0/attempt") == 0
    assert seen.at("/data/effects") == []
    told = run_cli("inspect", new_id, "--db", str(desk.db)).expect(0).stdout
    for line in (f"source={run_id}", "reused=first", "executed=second,third"):
        assert line in told
    call(desk, "verify", new_id).expect(0)


def test_a_retry_begins_at_what_failed_and_leaves_the_source_alone(desk: Desk) -> None:
    work = "import os, sys; sys.exit(not os.path.exists('ready'))"
    file = desk.file(
        "retry.yaml",
        chain(
            ("first", "assign", {"value": 1}),
            ("work", "work", {}),
            ("third", "assign", {"value": 3}),
            actions={"work": shell(work)},
        ),
    )
    run_id = desk.run(file).expect(4).text("/error/runId")
    before = call(desk, "inspect", run_id).document
    plan = call(desk, "retry", file, run_id, "--failed", "--plan").expect(0)
    assert (plan.at("/data/compatible"), plan.at("/data/failedOnly")) == (True, True)
    assert plan.at("/data/retryRoots") == ["work"]
    assert plan.at("/data/reusedTasks") == ["first"]
    assert plan.at("/data/rerunTasks") == ["work", "third"]
    (desk.folder / "ready").touch()
    retried = call(desk, "retry", file, run_id, "--failed", "--reason", "ready now").expect(0)
    assert retried.at("/data/executedTasks") == ["work", "third"]
    new_id = retried.text("/data/runId")
    seen = call(desk, "inspect", new_id)
    assert seen.at("/data/run/retryFailedOnly") is True
    assert seen.at("/data/run/retryRoots") == ["work"]
    assert call(desk, "inspect", run_id).document == before
    replayed = call(desk, "replay", new_id).expect(0)
    assert call(desk, "inspect", replayed.text("/data/runId")).at("/data/effects") == []


def test_a_finding_that_nothing_happened_lets_a_repair_begin(desk: Desk) -> None:
    script = "import time; time.sleep(2)"
    action = {"act": shell(script, timeoutSeconds=1)}
    source = desk.file("slow.yaml", chain(("it", "act", {}), actions=action))
    target = desk.file("fast.yaml", chain(("it", "assign", {"recovered": True})))
    run_id = desk.run(source).expect(4).text("/error/runId")
    blocked = call(desk, "repair", target, run_id, "--from", "it").expect(3)
    assert blocked.text("/error/code") == "recovery_blocked"
    assert "unreconciled_effect" in blocked.text("/error/message")
    planned = call(desk, "repair", target, run_id, "--from", "it", "--plan").expect(3)
    assert planned.at("/data/blockedReuse/0/rule") == "unreconciled_effect"
    (effect,) = call(desk, "inspect", run_id).items("/data/effects")
    request = cast("JsonObject", effect["request"])
    told = ("--status", "not-applied", "--reason", "looked")
    call(desk, "effects", "reconcile", request["id"], *told).expect(0)
    repaired = call(desk, "repair", target, run_id, "--from", "it").expect(0)
    assert repaired.text("/data/state") == "succeeded"


def test_a_typed_handoff_is_taken_over_by_retry_and_repair(desk: Desk) -> None:
    folder = EXAMPLES / "v1"
    file = folder / "structured-handoff.yaml"
    text = file.read_text(encoding="utf-8")
    words = "Review only the typed handoff payload."
    assert words in text
    changed = desk.folder / "changed.yaml"
    changed.write_text(text.replace(words, f"Independently {words}"), encoding="utf-8")
    run_id = desk.run(file, workspace=folder).expect(0).text("/data/runId")
    more = ("--from", "review", "--restart-successful", "--workspace", folder)
    for command, target in (("retry", file), ("repair", changed)):
        made = call(desk, command, target, run_id, *more).expect(0)
        assert made.at("/data/reusedTasks") == ["collect", "handoff"]
        assert made.at("/data/executedTasks") == ["review", "verify"]
        replayed = call(desk, "replay", made.text("/data/runId")).expect(0)
        assert call(desk, "inspect", replayed.text("/data/runId")).at("/data/effects") == []


def test_a_fork_has_fresh_effects_and_leaves_its_parent_alone(desk: Desk) -> None:
    line = "open('log', 'a').write('line\\n')"
    file = desk.file(
        "fork.yaml",
        chain(("a", "act", {}), ("b", "act", {}), ("c", "act", {}), actions={"act": shell(line)}),
    )
    run_id = desk.run(file).expect(0).text("/data/runId")
    before = call(desk, "inspect", run_id).document
    forked = call(desk, "fork", run_id).expect(0).text("/data/runId")
    assert forked != run_id
    assert len(call(desk, "inspect", forked).items("/data/effects")) == 3
    part = call(desk, "fork", run_id, "--from", "c").expect(0)
    assert part.at("/data/reusedTasks") == ["a", "b"]
    assert len(call(desk, "inspect", part.text("/data/runId")).items("/data/effects")) == 1
    assert (desk.folder / "log").read_text(encoding="utf-8").count("line") == 7
    assert call(desk, "inspect", run_id).document == before


def test_what_was_done_for_good_is_not_done_again_by_a_retry(desk: Desk) -> None:
    line = "open('log', 'a').write('line\\n')"
    file = desk.file(
        "once.yaml",
        chain(("a", "act", {}), ("b", "assert", {"that": False}), actions={"act": shell(line)}),
    )
    run_id = desk.run(file).expect(4).text("/error/runId")
    args = ("retry", file, run_id, "--from", "a", "--restart-successful")
    blocked = call(desk, *args, "--plan").expect(3)
    assert blocked.at("/data/blockedReuse/0/rule") == "confirmed_mutation"
    call(desk, *args).expect(3)
    assert (desk.folder / "log").read_text(encoding="utf-8") == "line\n"


@pytest.mark.parametrize(
    ("args", "code", "exit_code"),
    [
        (("--failed", "--from", "first"), "usage", 2),
        ((), "usage", 2),
        (("--from", "nowhere"), "recovery_blocked", 3),
        (("--from", "first"), "recovery_blocked", 3),
    ],
)
def test_a_retry_that_cannot_be_says_why(
    desk: Desk, args: tuple[str, ...], code: str, exit_code: int
) -> None:
    source, _ = broken_and_fixed(desk)
    run_id = desk.run(source).expect(4).text("/error/runId")
    refused = call(desk, "retry", source, run_id, *args).expect(exit_code)
    assert refused.text("/error/code") == code
    assert len(call(desk, "runs").items("/data")) == 1


def test_a_retry_refuses_another_workflow_and_names_the_repair(desk: Desk) -> None:
    source, target = broken_and_fixed(desk)
    run_id = desk.run(source).expect(4).text("/error/runId")
    refused = call(desk, "retry", target, run_id, "--failed").expect(3)
    assert "agentctl repair" in refused.text("/error/help")


def test_memory_that_a_reused_task_wrote_is_there_for_the_next(desk: Desk) -> None:
    actions = {"put": {"kind": "builtin.memory.write"}, "get": {"kind": "builtin.memory.read"}}
    steps = [
        ("a", "put", {"key": "k", "value": "kept"}),
        ("b", "assert", {"that": "${{ vars.good }}"}),
        ("c", "get", {"key": "k"}),
    ]
    memory = {"working": {"k": ""}}
    bodies = [chain(*steps, actions=actions, memory=memory) for _ in range(2)]
    for body, good in zip(bodies, (False, True), strict=True):
        spec = cast("JsonObject", body["spec"])
        spec["vars"] = {"good": good}
        tasks = cast("list[JsonObject]", spec["tasks"])
        tasks[0]["memoryWrites"] = ["k"]
    source, target = desk.file("m1.yaml", bodies[0]), desk.file("m2.yaml", bodies[1])
    run_id = desk.run(source).expect(4).text("/error/runId")
    made = call(desk, "repair", target, run_id, "--from", "b").expect(0)
    seen = call(desk, "inspect", made.text("/data/runId"))
    assert seen.at("/data/run/workingMemory") == {"k": "kept"}
    assert seen.at("/data/tasks/2/output/output/value") == "kept"
