"""Undoing a run as an operator meets it: the real CLI on real files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import pytest

from agentctl import Engine
from tests.cli.harness import EXAMPLES, run_cli
from tests.cli.test_journeys import Desk
from tests.cli.test_recovery import call, shell

if TYPE_CHECKING:
    from pathlib import Path

    from agentctl.jsonvalue import JsonObject

LOG = "import sys; open('log', 'a').write(sys.argv[1] + '\\n')"


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """Return a fresh folder with a database."""
    return Desk(tmp_path)


def step(name: str, *, undo: str | None = None, after: str | None = None) -> JsonObject:
    """Return a task that notes its name in a file, and perhaps notes its undoing there."""
    made: JsonObject = {
        "id": name,
        "uses": "action:note",
        "with": {"args": ["-I", "-S", "-c", LOG, f"do {name}"]},
        "needs": [] if after is None else [after],
    }
    if undo is not None:
        made["compensate"] = {
            "uses": f"action:{undo}",
            "with": {"args": ["-I", "-S", "-c", LOG, f"undo {name}"]},
        }
    return made


def failing(*tasks: JsonObject, **spec: Any) -> JsonObject:
    """Return a workflow of such tasks that fails at its end."""
    last = str(tasks[-1]["id"])
    end = {"id": "end", "uses": "action:assert", "with": {"that": False}, "needs": [last]}
    broken = "import os, sys; sys.exit(not os.path.exists('mended'))"
    actions = {
        "note": {**shell(LOG), "args": []},
        "assert": {"kind": "builtin.assert"},
        "broken": shell(broken),
        "write": {"kind": "builtin.write"},
        **spec.pop("actions", {}),
    }
    command = cast("str", shell(LOG)["command"])
    name = command.rpartition("/")[2]
    policy = {"approval": "never", "writableRoots": ["."], "processAllowlist": [name]}
    return cast(
        "JsonObject",
        {
            "apiVersion": "agentctl.dev/v1",
            "kind": "Workflow",
            "metadata": {"name": "undoing"},
            "spec": {
                "policy": {**policy, **spec.pop("policy", {})},
                "actions": actions,
                "tasks": [*tasks, end],
                **spec,
            },
        },
    )


def log(desk: Desk) -> list[str]:
    """Return what happened, in order."""
    return (desk.folder / "log").read_text(encoding="utf-8").split("\n")[:-1]


def started(desk: Desk, body: JsonObject) -> str:
    """Run a workflow that fails, and return the run's id."""
    return desk.run(desk.file("undoing.yaml", body)).expect(4).text("/error/runId")


def test_a38_a_failed_run_is_compensated_and_a_second_plan_finds_nothing(desk: Desk) -> None:
    (desk.folder / "artifacts").mkdir()
    example = EXAMPLES / "v1" / "compensation.yaml"
    run_id = desk.run(example, workspace=desk.folder).expect(4).text("/error/runId")
    where = ("--workspace", desk.folder)
    plan = call(desk, "compensate", run_id, "--plan", *where).expect(0)
    assert plan.at("/data/executable") is True
    assert plan.at("/data/tasks/0/sourceTaskId") == "provision"
    assert plan.at("/data/tasks/0/state") == "planned"
    done = call(desk, "compensate", run_id, "--reason", "not needed", *where).expect(0)
    assert done.at("/data/state") == "succeeded"
    assert done.at("/data/compensatedTasks/0") == "provision"
    resource = desk.folder / "artifacts" / "compensation-resource.txt"
    assert resource.read_text(encoding="utf-8") == "compensated"
    new_id = done.text("/data/runId")
    seen = desk.inspect(new_id)
    assert (seen.at("/data/run/mode"), seen.at("/data/run/sourceRunId")) == (
        "compensation",
        run_id,
    )
    assert seen.at("/data/run/reason") == "not needed"
    source = desk.inspect(run_id)
    assert source.at("/data/effectReconciliations/0/status") == "compensated"
    undoing = source.at("/data/effectReconciliations/0/compensationEffect")
    assert undoing == seen.at("/data/effects/0/request/id")
    assert source.at("/data/effectReconciliations/0/actor")
    replayed = desk.on("replay", new_id).expect(0)
    assert desk.inspect(replayed.text("/data/runId")).at("/data/effects") == []
    again = call(desk, "compensate", run_id, "--plan").expect(0)
    assert again.at("/data/executable") is False
    assert len(again.items("/data/alreadyCompensatedEffects")) == 1
    refused = call(desk, "compensate", run_id).expect(3)
    assert refused.text("/error/code") == "compensation_blocked"
    for one in (run_id, new_id):
        call(desk, "verify", one).expect(0)


def test_inverses_run_last_things_first_and_one_at_a_time(desk: Desk) -> None:
    run_id = started(
        desk,
        failing(
            step("a", undo="note"),
            step("b", undo="note", after="a"),
            step("plain", after="b"),
            step("c", undo="note", after="plain"),
            runtime={"maxConcurrency": 4},
        ),
    )
    done = call(desk, "compensate", run_id).expect(0)
    assert done.at("/data/compensatedTasks") == ["c", "b", "a"]
    assert log(desk) == ["do a", "do b", "do plain", "do c", "undo c", "undo b", "undo a"]


def test_what_failed_to_be_undone_can_be_tried_again_alone(desk: Desk) -> None:
    run_id = started(
        desk,
        failing(
            step("a", undo="note"),
            {
                **step("b", undo="broken", after="a"),
                "compensate": {"uses": "action:broken"},
            },
            step("c", undo="note", after="b"),
        ),
    )
    tried = call(desk, "compensate", run_id).expect(4)
    assert tried.at("/data/compensatedTasks") == ["c", "a"]
    plan = call(desk, "compensate", run_id, "--plan").expect(0)
    assert [one["sourceTaskId"] for one in plan.items("/data/tasks")] == ["b"]
    assert plan.at("/data/tasks/0/state") == "failed"
    assert len(plan.items("/data/alreadyCompensatedEffects")) == 2
    (desk.folder / "mended").touch()
    assert call(desk, "compensate", run_id).expect(0).at("/data/compensatedTasks") == ["b"]
    assert log(desk) == ["do a", "do b", "do c", "undo c", "undo a"]
    statuses = [one["status"] for one in desk.inspect(run_id).items("/data/effectReconciliations")]
    assert statuses == ["compensated"] * 3


def test_only_named_tasks_are_undone_and_unknown_ones_are_all_named(desk: Desk) -> None:
    run_id = started(
        desk,
        failing(
            step("first", undo="note"),
            step("second", undo="note", after="first"),
            step("bare", after="second"),
        ),
    )
    wrong = call(desk, "compensate", run_id, "--task", "frist", "--task", "bare", "--plan").expect(
        2
    )
    message = wrong.text("/error/message")
    assert "'frist'" in message
    assert "'bare' declares no inverse" in message
    assert "first" in wrong.text("/error/help")
    done = call(desk, "compensate", run_id, "--task", "first").expect(0)
    assert done.at("/data/compensatedTasks") == ["first"]
    left = call(desk, "compensate", run_id, "--plan").expect(0)
    assert [one["sourceTaskId"] for one in left.items("/data/tasks")] == ["second"]
    told = run_cli("compensate", run_id, "--plan", "--db", str(desk.db)).expect(0).stdout
    assert "second" in told
    assert "undone already: 1 effects" in told


def test_an_uncertain_change_blocks_until_somebody_says_what_became_of_it(desk: Desk) -> None:
    slow = shell("import time; time.sleep(5)", timeoutSeconds=1)
    task = {
        "id": "slow",
        "uses": "action:slow",
        "needs": ["a"],
        "compensate": {"uses": "action:write", "with": {"path": "undone", "content": "x"}},
    }
    body = failing(step("a", undo="note"), cast("JsonObject", task), actions={"slow": slow})
    run_id = started(desk, body)
    plan = call(desk, "compensate", run_id, "--plan").expect(3)
    assert plan.at("/data/executable") is False
    assert plan.at("/data/blocked/0/rule") == "unreconciled_effect"
    assert plan.at("/data/blocked/0/effect") == "slow/1.0"
    refused = call(desk, "compensate", run_id).expect(3)
    assert refused.text("/error/code") == "compensation_blocked"
    assert log(desk) == ["do a"]
    result = desk.file(
        "result.json",
        {
            "status": "changed",
            "changed": True,
            "before": None,
            "after": None,
            "diff": None,
            "output": {"exitCode": 0, "stdout": "", "stderr": ""},
            "predictability": "requires_execution",
        },
    )
    finding = ("--status", "applied", "--actor", "ada", "--reason", "saw it")
    call(
        desk, "effects", "reconcile", run_id, "slow/1.0", *finding, "--result-file", result
    ).expect(0)
    done = call(desk, "compensate", run_id).expect(0)
    assert done.at("/data/compensatedTasks") == ["slow", "a"]
    (found, _) = sorted(
        desk.inspect(run_id).items("/data/effectReconciliations"),
        key=lambda one: str(one["effectName"]),
        reverse=True,
    )
    assert (found["status"], found["effectName"]) == ("compensated", "slow/1.0")


def test_an_inverse_reads_the_output_of_its_task_and_no_value_is_read_as_a_template(
    desk: Desk,
) -> None:
    text = "${{ vars.secret }}"
    (desk.folder / "given.txt").write_text(text, encoding="utf-8")
    show = "import sys; print(open('given.txt').read(), end=''); open('log', 'a').write('do\\n')"
    task = {
        "id": "show",
        "uses": "action:show",
        "compensate": {
            "uses": "action:write",
            "with": {"path": "back", "content": "${{ tasks.show.output.output.stdout }}"},
        },
    }
    run_id = started(desk, failing(cast("JsonObject", task), actions={"show": shell(show)}))
    call(desk, "compensate", run_id).expect(0)
    assert (desk.folder / "back").read_text(encoding="utf-8") == text


def test_a_run_that_is_not_over_cannot_be_compensated(desk: Desk) -> None:
    body = failing(step("a", undo="note"), policy={"approval": "always"})
    run_id = desk.run(desk.file("paused.yaml", body)).expect(3).text("/data/runId")
    refused = call(desk, "compensate", run_id, "--plan").expect(3)
    assert "only a run that is over" in refused.text("/error/message")


def test_an_inverse_that_asks_a_person_waits_and_nobody_starts_another(desk: Desk) -> None:
    body = failing(step("a", undo="note"), compensation={"approval": "always"})
    run_id = started(desk, body)
    waiting = call(desk, "compensate", run_id).expect(3)
    new_id = waiting.text("/data/runId")
    plan = call(desk, "compensate", run_id, "--plan").expect(3)
    assert plan.at("/data/blocked/0/rule") == "compensation_open"
    (question,) = desk.inspect(new_id).items("/data/approvals")
    call(desk, "approvals", "approve", question["approvalId"], "--actor", "ada").expect(0)
    assert log(desk) == ["do a"]
    with Engine(desk.db) as other:
        journal = other.store.claim_run(run_id, other.store.clock.now())
        for command, subject in (("resume", new_id), ("compensate", run_id)):
            held = call(desk, command, subject).expect(3)
            assert held.text("/error/code") == "run_held"
        journal.release()
    call(desk, "resume", new_id).expect(0)
    assert log(desk) == ["do a", "undo a"]
    again = call(desk, "compensate", run_id, "--plan").expect(0)
    assert again.at("/data/executable") is False


def test_a_failed_run_undoes_itself_where_the_document_says_so(desk: Desk) -> None:
    body = failing(step("a", undo="note"), compensation={"onFailure": "automatic"})
    failed = desk.run(desk.file("automatic.yaml", body)).expect(4)
    assert failed.at("/data/compensation/compensatedTasks") == ["a"]
    assert log(desk) == ["do a", "undo a"]
    new_id = failed.text("/data/compensation/runId")
    assert desk.inspect(new_id).at("/data/run/sourceRunId") == failed.at("/data/runId")


def test_a_cancelled_run_undoes_nothing_by_itself(desk: Desk) -> None:
    write = {"uses": "action:write", "with": {"path": "made", "content": "yes"}}
    undo = {"uses": "action:write", "with": {"path": "made", "content": "no"}}
    made = cast("JsonObject", {"id": "made", **write, "compensate": undo})
    body = failing(
        made,
        step("held", after="made"),
        compensation={"onFailure": "automatic"},
        policy={"approval": "high_risk"},
    )
    run_id = desk.run(desk.file("cancelled.yaml", body)).expect(3).text("/data/runId")
    call(desk, "cancel", run_id, "--actor", "ada").expect(0)
    assert (desk.folder / "made").read_text(encoding="utf-8") == "yes"
    call(desk, "compensate", run_id).expect(0)
    assert (desk.folder / "made").read_text(encoding="utf-8") == "no"


def test_people_are_told_what_was_undone_and_what_is_left(desk: Desk) -> None:
    body = failing(
        step("a", undo="note"),
        {**step("b", after="a"), "compensate": {"uses": "action:broken"}},
        compensation={"onFailure": "automatic"},
    )
    file = desk.file("told.yaml", body)
    where = ("--workspace", str(desk.folder), "--db", str(desk.db))
    failed = run_cli("run", str(file), *where).expect(4).stdout
    assert "undid what it could: failed" in failed
    run_id = failed.split()[1]
    tried = run_cli("compensate", run_id, "--db", str(desk.db)).expect(4).stdout
    assert f"`agentctl compensate {run_id} --plan` shows what is left" in tried
    (desk.folder / "mended").touch()
    done = run_cli("compensate", run_id, "--db", str(desk.db)).expect(0).stdout
    assert "compensated=b" in done
    left = run_cli("compensate", run_id, "--plan", "--db", str(desk.db)).expect(0).stdout
    assert "nothing is left to undo" in left


def test_what_was_undone_may_be_done_again_by_a_repair(desk: Desk) -> None:
    tasks = (step("a", undo="note"), step("b", undo="note", after="a"))
    run_id = started(desk, failing(*tasks))
    target = desk.file("target.yaml", failing(step("a", undo="note"), step("b", after="a")))
    repair = ("repair", target, run_id, "--from", "b", "--restart-successful", "--plan")
    blocked = call(desk, *repair).expect(3)
    assert blocked.at("/data/blockedReuse/0/rule") == "confirmed_mutation"
    call(desk, "compensate", run_id, "--task", "b").expect(0)
    call(desk, *repair).expect(0)


def test_an_input_that_cannot_be_read_blocks_only_its_own_task(desk: Desk) -> None:
    lost = "${{ tasks.b.output.output.nowhere }}"
    undo = {"uses": "action:write", "with": {"path": "x", "content": lost}}
    body = failing(
        step("a", undo="note"),
        cast("JsonObject", {**step("b", after="a"), "compensate": undo}),
    )
    run_id = started(desk, body)
    plan = call(desk, "compensate", run_id, "--plan").expect(3)
    assert plan.at("/data/blocked/0/rule") == "unreadable_input"
    call(desk, "compensate", run_id, "--task", "a").expect(0)
    assert log(desk) == ["do a", "do b", "undo a"]


def test_a_compensation_that_is_in_doubt_or_given_up_decides_what_comes_next(desk: Desk) -> None:
    slow = shell("import time; time.sleep(5)", timeoutSeconds=1)
    body = failing(
        step("a", undo="note"),
        {**step("b", after="a"), "compensate": {"uses": "action:slow"}},
        actions={"slow": slow},
        compensation={"approval": "never"},
    )
    run_id = started(desk, body)
    tried = call(desk, "compensate", run_id).expect(4)
    assert tried.at("/data/compensatedTasks") == ["a"]
    plan = call(desk, "compensate", run_id, "--plan").expect(3)
    assert plan.at("/data/blocked/0/rule") == "uncertain_compensation"
    finding = ("--status", "not-applied", "--actor", "ada", "--reason", "looked")
    new_id = tried.text("/data/runId")
    call(desk, "effects", "reconcile", new_id, "b/1.0", *finding).expect(0)
    plan = call(desk, "compensate", run_id, "--plan").expect(0)
    assert [one["sourceTaskId"] for one in plan.items("/data/tasks")] == ["b"]
    assert plan.at("/data/tasks/0/state") == "planned"


def test_every_child_of_a_repeated_task_is_undone_with_its_own_values(desk: Desk) -> None:
    undo = {"args": ["-I", "-S", "-c", LOG, "undo ${{ vars.item }}"]}
    task = {
        "id": "each",
        "uses": "action:note",
        "foreach": {"items": ["x", "y"]},
        "with": {"args": ["-I", "-S", "-c", LOG, "do ${{ vars.item }}"]},
        "compensate": {"uses": "action:note", "with": undo},
    }
    run_id = started(desk, failing(cast("JsonObject", task)))
    done = call(desk, "compensate", run_id, "--task", "each").expect(0)
    assert len(cast("list[str]", done.at("/data/compensatedTasks"))) == 2
    assert log(desk) == ["do x", "do y", "undo y", "undo x"]


def test_a_compensation_is_not_retried_or_forked_behind_its_source(desk: Desk) -> None:
    run_id = started(desk, failing(step("a", undo="note")))
    new_id = call(desk, "compensate", run_id).expect(0).text("/data/runId")
    file = desk.folder / "undoing.yaml"
    for command in (("fork", new_id), ("retry", file, new_id, "--failed")):
        refused = call(desk, *command).expect(3)
        assert f"`agentctl compensate {run_id}`" in refused.text("/error/help")
    assert log(desk) == ["do a", "undo a"]
