"""The commands that look: runs, inspect, verify, db, plan, schema, effects; and run --check."""

from __future__ import annotations

import json
import os
import shutil
import signal
from typing import TYPE_CHECKING, cast
from xml.etree import ElementTree as ET

import pytest

from tests.cli.harness import EXAMPLES, Result, finish, run_cli, run_json, start_cli

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from agentctl.jsonvalue import JsonObject

V1 = EXAMPLES / "v1"
SLOW: JsonObject = {
    "apiVersion": "agentctl.dev/v1",
    "kind": "Workflow",
    "metadata": {"name": "slow"},
    "spec": {
        "providers": {"fake": {"kind": "fake"}},
        "agents": {
            "slow": {
                "provider": "fake",
                "model": "m",
                "instructions": "wait",
                "providerOptions": {"delayMs": 30_000, "finalText": "late"},
            }
        },
        "tasks": [{"id": "wait", "uses": "agent:slow", "with": {"prompt": "x"}}],
    },
}


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """Return a database with one run of the router example, and the run's id."""
    db = str(tmp_path_factory.mktemp("stored") / "t.db")
    ran = run_json("run", str(V1 / "router.yaml"), "--db", db).expect(0)
    return db, ran.text("/data/runId")


def _until_dispatched(tmp_path: Path, end: Callable[[int, str], None]) -> Result:
    """Run a slow workflow, and call `end` with its pid and run id while its effect is out."""
    (tmp_path / "slow.json").write_text(json.dumps(SLOW), encoding="utf-8")
    args = ("run", str(tmp_path / "slow.json"), "--db", str(tmp_path / "t.db"))
    started = start_cli(*args, "--output", "jsonl")
    assert started.stdout is not None
    run_id = ""
    for line in started.stdout:
        data = cast("JsonObject", json.loads(line)["data"])
        run_id = cast("str", data["runId"])
        if data.get("eventType") == "effect.start":
            break
    end(started.pid, run_id)
    return finish(started, *args)


def test_a_killed_run_is_listed_as_stuck_with_what_to_do(tmp_path: Path) -> None:
    _until_dispatched(tmp_path, lambda pid, _: os.kill(pid, signal.SIGKILL)).expect(-9)
    shown = run_json("runs", "--stuck", "--db", str(tmp_path / "t.db")).expect(0)
    run_id = shown.text("/data/0/runId")
    assert "is gone" in shown.text("/data/0/stillness/reason")
    assert shown.at("/data/0/stillness/next") == f"agentctl resume {run_id}"


def test_a_run_is_cancelled_from_another_process(tmp_path: Path) -> None:
    db = str(tmp_path / "t.db")

    def cancel(_: int, run_id: str) -> None:
        asked = run_json("cancel", run_id, "--db", db, "--reason", "enough", "--actor", "ann")
        assert asked.expect(0).at("/data/requested") is True

    ended = _until_dispatched(tmp_path, cancel).expect(130)
    last = ended.lines[-1]
    assert cast("JsonObject", last["data"])["state"] == "cancelled"
    assert cast("JsonObject", last["error"])["message"] == "enough"


def test_runs_are_listed_and_filtered(stored: tuple[str, str]) -> None:
    db, run_id = stored
    listed = run_json("runs", "--db", db).expect(0)
    assert [row["runId"] for row in listed.items("/data")] == [run_id]
    assert listed.at("/data/0/tasks") == {"succeeded": 3, "skipped": 1}
    for none in (("--state", "failed"), ("--workflow", "x"), ("--older-than", "1d"), ("--stuck",)):
        assert run_json("runs", "--db", db, *none).expect(0).at("/data") == []
    assert run_id in run_cli("runs", "--db", db, "--state", "succeeded").expect(0).stdout


def test_a_wrong_state_names_the_nearest_one(stored: tuple[str, str]) -> None:
    shown = run_json("runs", "--db", stored[0], "--state", "suceeded").expect(2)
    assert shown.at("/error/help") == "did you mean 'succeeded'?"


def test_inspect_tells_a_person_what_happened(stored: tuple[str, str]) -> None:
    shown = run_cli("inspect", stored[1], "--db", stored[0], "--verbose").expect(0).stdout
    assert "route not selected" in shown
    assert "task.skip_by_route" in shown


@pytest.mark.parametrize("form", ["mermaid", "dot", "svg"])
def test_inspect_draws_what_happened(stored: tuple[str, str], form: str) -> None:
    drawing = ("inspect", stored[1], "--db", stored[0], "--diagram")
    shown = run_cli(*drawing, "--format", form).expect(0).stdout
    assert "skipped" in shown
    assert "#dafbe1" in shown
    assert (run_cli(*drawing).expect(0).stdout == shown) == (form == "mermaid")


def test_a_kind_of_drawing_without_a_diagram_is_refused(stored: tuple[str, str]) -> None:
    shown = run_json("inspect", stored[1], "--db", stored[0], "--format", "svg").expect(2)
    assert shown.at("/error/message") == "--format says how to draw; add --diagram"


@pytest.mark.parametrize("form", ["mermaid", "dot", "svg", "json"])
def test_a_plan_is_drawn_or_written(form: str) -> None:
    shown = run_cli("plan", str(V1 / "router.yaml"), "--format", form).expect(0).stdout
    if form == "svg":
        ET.fromstring(shown)
    if form == "json":
        assert len(json.loads(shown)["planDigest"]) == 64
    assert "route" in shown


def test_a_journal_is_verified(stored: tuple[str, str]) -> None:
    db, run_id = stored
    assert run_json("verify", run_id, "--db", db).expect(0).at("/data/valid") is True
    assert run_json("verify", "--all", "--db", db).expect(0).at("/data/runs") == 1
    run_json("verify", "--db", db).expect(2)


def test_a_tampered_journal_is_found(stored: tuple[str, str], tmp_path: Path) -> None:
    import sqlite3

    copy = tmp_path / "t.db"
    run_json("db", "backup", str(copy), "--db", stored[0]).expect(0)
    with sqlite3.connect(copy) as connection:
        connection.execute("UPDATE transition SET at = at + 1 WHERE sequence = 2")
    connection.close()
    shown = run_json("verify", "--all", "--db", str(copy)).expect(5)
    assert shown.at("/data/mismatches/0/sequence") == 2
    assert run_json("db", "check", "--db", str(copy)).expect(5).at("/data/valid") is False


def test_a_backup_is_a_whole_private_copy_and_replaces_nothing(
    stored: tuple[str, str], tmp_path: Path
) -> None:
    copy = tmp_path / "copy.db"
    run_json("db", "backup", str(copy), "--db", stored[0]).expect(0)
    assert copy.stat().st_mode & 0o777 == 0o600
    assert run_json("db", "check", "--db", str(copy)).expect(0).at("/data/valid") is True
    run_json("db", "backup", str(copy), "--db", stored[0]).expect(2)
    assert [one.name for one in tmp_path.iterdir() if "part" in one.name] == []


def test_a_database_says_how_it_is_set_up(stored: tuple[str, str]) -> None:
    shown = run_json("db", "info", "--db", stored[0]).expect(0)
    assert shown.at("/data/journalMode") == "wal"
    assert shown.at("/data/synchronous") == "full"
    assert shown.at("/data/runs") == {"succeeded": 1}
    run_cli("db", "info", "--db", stored[0]).expect(0)


def test_looking_makes_no_database(tmp_path: Path) -> None:
    for args in (("runs",), ("inspect", "x"), ("db", "info"), ("verify", "--all")):
        run_json(*args, cwd=tmp_path).expect(2)
    assert list(tmp_path.iterdir()) == []


def test_the_schema_is_written_to_a_file(tmp_path: Path) -> None:
    target = tmp_path / "schema.json"
    run_json("schema", "--write", str(target)).expect(0)
    assert json.loads(target.read_text(encoding="utf-8")) == run_json("schema").expect(0).at(
        "/data"
    )


def test_a_preview_writes_nothing_and_shows_the_difference(tmp_path: Path) -> None:
    file = tmp_path / "w.yaml"
    shutil.copy(V1 / "check-diff.yaml", file)
    args = ("run", str(file), "--check", "--diff", "--db", str(tmp_path / "t.db"))
    run_json(*args).expect(0)
    assert "deterministic preview" in run_cli(*args).expect(0).stdout
    assert [one.name for one in tmp_path.iterdir()] == ["w.yaml"]


def test_effects_are_listed_and_found_by_a_prefix(tmp_path: Path) -> None:
    db = str(tmp_path / "t.db")
    ran = run_json("run", str(V1 / "fake-provider.yaml"), "--db", db).expect(0)
    run_id = ran.text("/data/runId")
    effect = run_json("effects", "list", run_id, "--db", db).expect(0).text("/data/0/request/id")
    found = run_json("effects", "inspect", run_id, effect[:12], "--db", db).expect(0)
    assert found.at("/data/request/id") == effect
    run_cli("effects", "inspect", run_id, effect[:12], "--db", db).expect(0)
    run_json("effects", "inspect", run_id, "zzz", "--db", db).expect(2)


def test_an_approval_is_asked_given_and_acted_on(tmp_path: Path) -> None:
    file = tmp_path / "w.yaml"
    shutil.copy(V1 / "approval.yaml", file)
    db = ("--db", str(tmp_path / "t.db"))
    ran = run_json("run", str(file), *db).expect(3)
    run_id = ran.text("/data/runId")
    [asked] = run_json("approvals", *db, "list", run_id).expect(0).items("/data")
    assert run_json("runs", "--stuck", *db).items("/data")[0]["runId"] == run_id
    approval = cast("str", asked["approvalId"])
    run_json("approvals", *db, "approve", approval, "--reason", "fine").expect(0)
    assert run_json("resume", run_id, *db).expect(0).at("/data/state") == "succeeded"


def test_a_rejected_approval_fails_the_run(tmp_path: Path) -> None:
    file = tmp_path / "w.yaml"
    shutil.copy(V1 / "approval.yaml", file)
    db = ("--db", str(tmp_path / "t.db"))
    run_id = run_json("run", str(file), *db).expect(3).text("/data/runId")
    [asked] = run_json("approvals", *db, "list", run_id).expect(0).items("/data")
    approval = cast("str", asked["approvalId"])
    run_json("approvals", *db, "reject", approval, "--reason", "no").expect(0)
    resumed = run_json("resume", run_id, *db).expect(4)
    assert resumed.at("/data/state") == "failed"
    assert resumed.at("/data/runId") == run_id


def test_a_resume_in_another_folder_is_refused(stored: tuple[str, str], tmp_path: Path) -> None:
    shown = run_json("resume", stored[1], "--db", stored[0], "--workspace", str(tmp_path))
    assert "works in" in shown.expect(2).text("/error/message")


def test_the_reference_names_every_command() -> None:
    from agentctl.cli.reference import markdown

    text = markdown()
    for name in ("run", "approvals approve", "db backup", "machines draw"):
        assert f"## `agentctl {name}`" in text
