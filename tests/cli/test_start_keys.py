"""`run --key`: at most one run under a key, also when starts race or are killed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from agentctl import Engine
from agentctl.testing import CrashPoint, SimulatedCrash
from tests.cli.harness import finish, run_cli, run_json, start_cli
from tests.cli.test_journeys import Desk

if TYPE_CHECKING:
    from pathlib import Path

    from agentctl.jsonvalue import JsonObject

RACERS = 6


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """Return a fresh folder with a database."""
    return Desk(tmp_path)


def writing(**inputs: Any) -> JsonObject:
    """Return a workflow with one effect."""
    return {
        "apiVersion": "agentctl.dev/v1",
        "kind": "Workflow",
        "metadata": {"name": "keyed"},
        "spec": {
            "inputs": {"text": "first", **inputs},
            "policy": {"approval": "never", "writableRoots": ["."]},
            "actions": {"write": {"kind": "builtin.write"}},
            "tasks": [
                {
                    "id": "write",
                    "uses": "action:write",
                    "with": {"path": "said.txt", "content": "${{ inputs.text }}"},
                }
            ],
        },
    }


def runs(desk: Desk) -> list[JsonObject]:
    """Return every run."""
    return run_json("runs", "--db", str(desk.db)).expect(0).items("/data")


def test_a_second_start_returns_the_run_that_exists(desk: Desk) -> None:
    file = desk.file("w.json", writing())
    first = desk.run(file, "--key", "order 7").expect(0)
    assert first.at("/data/existing") is False
    (desk.folder / "said.txt").unlink()
    again = desk.run(file, "--key", "order 7").expect(0)
    assert again.at("/data/existing") is True
    assert again.at("/data/runId") == first.at("/data/runId")
    assert again.at("/data/state") == "succeeded"
    assert not (desk.folder / "said.txt").exists()
    assert len(runs(desk)) == 1
    other = desk.run(file, "--key", "order 8").expect(0)
    assert other.at("/data/runId") != first.at("/data/runId")


@pytest.mark.parametrize("change", ["inputs", "workflow"])
def test_a_key_of_another_request_is_refused(desk: Desk, change: str) -> None:
    file = desk.file("w.json", writing())
    run_id = desk.run(file, "--key", "k").expect(0).text("/data/runId")
    more = ("--input", "text=second") if change == "inputs" else ()
    if change == "workflow":
        file = desk.file("w.json", writing(more="x"))
    refused = desk.run(file, "--key", "k", *more).expect(2)
    assert refused.at("/error/code") == "start_key_reused"
    assert refused.at("/error/runId") == run_id
    assert "another workflow, other inputs" in refused.text("/error/message")
    assert (desk.folder / "said.txt").read_text(encoding="utf-8") == "first"


@pytest.mark.parametrize("key", ["", "a\nb", "x" * 256])
def test_a_key_that_cannot_be_one_is_refused(desk: Desk, key: str) -> None:
    refused = desk.run(desk.file("w.json", writing()), "--key", key).expect(2)
    assert "1 to 255 printable characters" in refused.text("/error/message")
    assert not (desk.folder / "said.txt").exists()


def test_of_starts_at_the_same_time_one_wins_and_all_return_its_run(desk: Desk) -> None:
    file = str(desk.file("w.json", writing()))
    args = ("run", file, "--key", "k", "--db", str(desk.db), "--output", "json")
    racing = [start_cli(*args) for _ in range(RACERS)]
    ended = [finish(one, *args) for one in racing]
    assert len({one.text("/data/runId") for one in ended}) == 1
    assert [one.at("/data/existing") for one in ended].count(False) == 1
    assert len(runs(desk)) == 1


def test_a_start_that_loses_at_its_commit_returns_the_winners_run(desk: Desk) -> None:
    file = desk.file("w.json", writing())

    def overtake() -> None:
        desk.run(file, "--key", "k").expect(0)

    crash = CrashPoint(at=1, crash=overtake)
    with Engine(desk.db, workspace=desk.folder, wrap_store=crash.watch) as slow:
        outcome = slow.start_sync(slow.load(writing()), key="k")
        (run,) = slow.store.list_runs()
    assert outcome.existing
    assert outcome.run_id == run.id


@pytest.mark.parametrize(("after", "left"), [(False, 0), (True, 1)])
def test_a_start_that_is_killed_at_its_commit_leaves_a_run_or_nothing(
    desk: Desk, after: bool, left: int
) -> None:
    crash = CrashPoint(at=1, after=after)
    with (
        Engine(desk.db, workspace=desk.folder, wrap_store=crash.watch) as engine,
        pytest.raises(SimulatedCrash),
    ):
        engine.start_sync(engine.load(writing()), key="k")
    with Engine(desk.db, workspace=desk.folder) as engine:
        before = engine.store.list_runs()
        outcome = engine.start_sync(engine.load(writing()), key="k")
        assert len(before) == left
        assert outcome.existing is bool(left)
        assert [outcome.run_id] == [one.id for one in engine.store.list_runs()]


def asking_a_provider() -> JsonObject:
    """Return a workflow that needs a credential and a server, and asks neither."""
    document = writing(ask=False)
    spec: Any = document["spec"]
    spec["providers"] = {
        "local": {
            "kind": "openai",
            "endpoint": "https://127.0.0.1:9/v1",
            "credential": {"env": "A_TOKEN"},
        }
    }
    spec["agents"] = {"writer": {"provider": "local", "model": "m", "instructions": "answer"}}
    spec["policy"] |= {
        "environmentAllowlist": ["A_TOKEN"],
        "networkAllowlist": ["127.0.0.1"],
        "network": {"allowPrivate": True, "allowedPorts": [9]},
    }
    ask = {
        "id": "ask",
        "uses": "agent:writer",
        "when": "${{ inputs.ask }}",
        "with": {"prompt": ""},
    }
    spec["tasks"].append(ask)
    return document


def test_the_run_is_returned_also_where_a_credential_is_missing_by_now(desk: Desk) -> None:
    file = str(desk.file("w.json", asking_a_provider()))
    start = ("run", file, "--key", "k", "--db", str(desk.db))
    refused = run_json(*start).expect(6)
    assert "A_TOKEN" in refused.text("/error/message")
    assert not desk.db.exists()
    first = run_json(*start, env={"A_TOKEN": "secret"}).expect(0)
    again = run_json(*start).expect(0)
    assert again.at("/data/existing") is True
    assert again.at("/data/runId") == first.at("/data/runId")
    other = run_json("run", file, "--key", "l", "--db", str(desk.db)).expect(6)
    assert "A_TOKEN" in other.text("/error/message")
    assert len(runs(desk)) == 1


def test_the_key_is_shown_with_its_run(desk: Desk) -> None:
    file = desk.file("w.json", writing())
    keyed = desk.run(file, "--key", "order 7").expect(0).text("/data/runId")
    plain = desk.run(file).expect(0).text("/data/runId")
    assert {one["runId"]: one["startKey"] for one in runs(desk)} == {keyed: "order 7", plain: None}
    assert desk.inspect(keyed).at("/data/run/startKey") == "order 7"
    assert desk.inspect(plain).at("/data/run/startKey") is None
    for command in (("inspect", keyed), ("runs",)):
        assert "order 7" in run_cli(*command, "--db", str(desk.db)).expect(0).stdout
