"""A repaired workflow that names its working memory otherwise: told before, applied, recorded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.cli.harness import run_cli
from tests.cli.test_journeys import Desk
from tests.cli.test_recovery import call, dispositions

if TYPE_CHECKING:
    from pathlib import Path

Body = dict[str, Any]
PLACE = "spec.memory.migrate"
SCHEMA = {
    "type": "object",
    "required": ["phase"],
    "properties": {"phase": {"type": "string"}, "rounds": {"type": "integer"}},
}


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """Return a fresh folder with a database."""
    return Desk(tmp_path)


def workflow(reads: str, that: object, memory: Body) -> Body:
    """Return a workflow that writes `stage`, checks something, and records one key of memory."""
    tasks: list[Any] = [
        {
            "id": "move",
            "uses": "action:remember",
            "memoryWrites": ["stage"],
            "with": {"key": "stage", "value": "built"},
        },
        {"id": "check", "uses": "action:assert", "needs": ["move"], "with": {"that": that}},
        {
            "id": "look",
            "uses": "action:record",
            "needs": ["check"],
            "with": {"value": f"${{{{ memory.{reads} }}}}"},
        },
        {"id": "last", "uses": "action:assert", "needs": ["look"], "with": {"that": that}},
    ]
    actions = {
        "remember": {"kind": "builtin.memory.write"},
        "assert": {"kind": "builtin.assert"},
        "record": {"kind": "builtin.assign"},
    }
    return {
        "apiVersion": "agentctl.dev/v1",
        "kind": "Workflow",
        "metadata": {"name": "staged"},
        "spec": {"memory": memory, "actions": actions, "tasks": tasks},
    }


def target(**migrate: Any) -> Body:
    """Return the version whose memory is `phase`, `lead` and `rounds`."""
    working = {"phase": "planned", "lead": "nobody", "rounds": 0}
    return workflow("phase", True, {"working": working, "migrate": migrate})


def failed(desk: Desk) -> str:
    """Return a run of the first version, whose check fails after it wrote to memory."""
    working = {"stage": "planned", "owner": "ada", "old": 1}
    file = desk.file("source.json", workflow("stage", False, {"working": working}))
    return desk.run(file).expect(4).text("/error/runId")


def good() -> dict[str, Any]:
    """Return a migration that holds."""
    return {
        "rename": {"stage": "phase", "owner": "lead"},
        "drop": ["old"],
        "set": {"rounds": 3},
        "schema": SCHEMA,
    }


KEYS = [
    {"key": "lead", "after": "ada"},
    {"key": "old", "before": 1},
    {"key": "owner", "before": "ada"},
    {"key": "phase", "after": "built"},
    {"key": "rounds", "after": 3},
    {"key": "stage", "before": "built"},
]
MIGRATED = {"phase": "built", "lead": "ada", "rounds": 3}


def test_a_repair_shows_each_key_before_and_after_and_stores_nothing(desk: Desk) -> None:
    run_id = failed(desk)
    file = desk.file("target.json", target(**good()))
    words = ("repair", file, run_id, "--from", "check", "--plan")
    plan = call(desk, *words).expect(0)
    assert plan.at("/data/memoryMigration") == {"carried": False, "keys": KEYS}
    human = run_cli(*map(str, words), "--db", str(desk.db)).expect(0).stdout
    rows = [line.split() for line in human.splitlines()]
    assert ["stage", '"built"', "-"] in rows
    assert ["phase", "-", '"built"'] in rows
    assert [one["runId"] for one in call(desk, "runs").expect(0).items("/data")] == [run_id]


def test_a_repair_applies_the_migration_as_a_move_of_the_run(desk: Desk) -> None:
    run_id = failed(desk)
    file = desk.file("target.json", target(**good()))
    made = call(desk, "repair", file, run_id, "--from", "check").expect(0).text("/data/runId")
    seen = call(desk, "inspect", made).expect(0)
    assert seen.at("/data/run/workingMemory") == MIGRATED
    assert seen.at("/data/run/memoryMigration") == {"carried": False, "keys": KEYS}
    moves = [one["eventType"] for one in seen.items("/data/audit")]
    assert moves[:3] == ["run.start", "task.reuse", "run.migrate_memory"]
    tasks = {str(one["taskId"]): one["output"] for one in seen.items("/data/tasks")}
    assert "built" in str(tasks["look"])
    human = run_cli("inspect", made, "--db", str(desk.db)).expect(0).stdout
    assert "working memory is taken over migrated" in human
    call(desk, "verify", made).expect(0)
    call(desk, "replay", made, "--against", file).expect(0)
    call(desk, "verify", run_id).expect(0)


def test_an_exported_run_keeps_its_migration(desk: Desk, tmp_path: Path) -> None:
    run_id = failed(desk)
    file = desk.file("target.json", target(**good()))
    made = call(desk, "repair", file, run_id, "--from", "check").expect(0).text("/data/runId")
    portable = tmp_path / "run.jsonl"
    call(desk, "export", made, portable).expect(0)
    seen = call(desk, "inspect", "--file", portable).expect(0)
    assert seen.at("/data/run/memoryMigration") == {"carried": False, "keys": KEYS}


@pytest.mark.parametrize(
    ("change", "place", "rule"),
    [
        ({"rename": {"stag": "phase"}}, "rename.stag", "memory_key_unknown"),
        ({"rename": {"stage": "fase"}}, "rename.stage", "memory_key_unknown"),
        ({"drop": ["older"]}, "drop[0]", "memory_key_unknown"),
        ({"set": {"round": 1}}, "set.round", "memory_key_unknown"),
        (
            {"rename": {"stage": "phase", "owner": "phase"}},
            "rename.owner",
            "memory_key_collision",
        ),
        ({"drop": ["stage"]}, "drop[0]", "memory_key_collision"),
        ({"set": {"phase": "x"}}, "rename.stage", "memory_key_collision"),
        ({"set": {"rounds": "many"}}, "schema", "memory_schema_mismatch"),
    ],
)
def test_a_migration_that_does_not_hold_is_refused_with_its_place(
    desk: Desk, change: dict[str, Any], place: str, rule: str
) -> None:
    run_id = failed(desk)
    file = desk.file("target.json", target(**{**good(), **change}))
    plan = call(desk, "repair", file, run_id, "--from", "check", "--plan").expect(3)
    found = [(one["place"], one["rule"]) for one in plan.items("/data/blockedReuse")]
    assert (f"{PLACE}.{place}", rule) in found
    refused = call(desk, "repair", file, run_id, "--from", "check").expect(3)
    assert refused.text("/error/code") == "recovery_blocked"
    human = run_cli("repair", str(file), run_id, "--from", "check", "--plan", "--db", str(desk.db))
    assert f"{PLACE}.{place}" in human.expect(3).stdout


def test_a_retry_of_a_migrated_run_begins_with_the_migrated_memory(desk: Desk) -> None:
    run_id = failed(desk)
    body = target(**good())
    body["spec"]["tasks"][3]["with"]["that"] = False
    file = desk.file("target.json", body)
    made = call(desk, "repair", file, run_id, "--from", "check").expect(4).text("/error/runId")
    for _ in range(2):
        plan = call(desk, "retry", file, made, "--failed", "--plan").expect(0)
        assert plan.at("/data/memoryMigration") == {"carried": True, "keys": KEYS}
        made = call(desk, "retry", file, made, "--failed").expect(4).text("/error/runId")
        assert dispositions(desk, made)["look"] == "reused"
        seen = call(desk, "inspect", made).expect(0)
        assert seen.at("/data/run/workingMemory") == MIGRATED
        call(desk, "verify", made).expect(0)


def test_a_run_that_was_never_migrated_is_retried_without_it(desk: Desk) -> None:
    body = target(**good())
    body["spec"]["tasks"][1]["with"]["that"] = False
    file = desk.file("target.json", body)
    run_id = desk.run(file).expect(4).text("/error/runId")
    plan = call(desk, "retry", file, run_id, "--failed", "--plan").expect(0)
    assert plan.at("/data/memoryMigration") is None
    assert call(desk, "fork", run_id, "--plan").expect(0).at("/data/memoryMigration") is None


def test_a_task_that_is_named_runs_again_and_the_rest_of_the_memory_is_migrated(
    desk: Desk,
) -> None:
    run_id = failed(desk)
    file = desk.file("target.json", target(**good()))
    words = ("repair", file, run_id, "--from", "move", "--restart-successful")
    made = call(desk, *words).expect(0).text("/data/runId")
    # What the source wrote is not taken over: the value that its workflow declared is renamed.
    memory = call(desk, "inspect", made).expect(0).at("/data/run/workingMemory")
    assert memory == {**MIGRATED, "phase": "planned", "stage": "built"}


def test_a_fork_from_the_start_begins_with_what_the_workflow_declares(desk: Desk) -> None:
    run_id = failed(desk)
    file = desk.file("target.json", target(**good()))
    made = call(desk, "repair", file, run_id, "--from", "check").expect(0).text("/data/runId")
    forked = call(desk, "fork", made).expect(0).text("/data/runId")
    seen = call(desk, "inspect", forked).expect(0)
    assert seen.at("/data/run/memoryMigration") is None
    assert seen.at("/data/run/workingMemory") == {
        "phase": "planned",
        "lead": "nobody",
        "rounds": 0,
        "stage": "built",
    }
    again = call(desk, "fork", made, "--from", "look").expect(0).text("/data/runId")
    seen = call(desk, "inspect", again).expect(0)
    assert seen.at("/data/run/memoryMigration") == {"carried": True, "keys": KEYS}
    assert seen.at("/data/run/workingMemory") == MIGRATED


def test_a_run_is_migrated_again_by_another_declaration(desk: Desk) -> None:
    run_id = failed(desk)
    body = target(**good())
    body["spec"]["tasks"][3]["with"]["that"] = False
    file = desk.file("target.json", body)
    made = call(desk, "repair", file, run_id, "--from", "check").expect(4).text("/error/runId")
    memory = {
        "working": {"phase": "planned", "boss": "nobody"},
        "migrate": {"rename": {"lead": "boss"}, "drop": ["rounds", "phase"]},
    }
    file = desk.file("third.json", workflow("phase", True, memory))
    words = ("repair", file, made, "--from", "look", "--from", "check", "--restart-successful")
    made = call(desk, *words).expect(0).text("/data/runId")
    seen = call(desk, "inspect", made).expect(0)
    assert seen.at("/data/run/workingMemory") == {"phase": "planned", "boss": "ada"}
    call(desk, "verify", made).expect(0)


def test_a_schema_that_is_none_is_refused_by_check(desk: Desk) -> None:
    file = desk.file("target.json", target(schema={"type": "tuple"}))
    (found,) = call(desk, "check", file).expect(2).items("/diagnostics")
    assert found["code"] == "invalid_schema"
    assert str(found["path"]).startswith(f"{PLACE}.schema")
