"""`resume --all` as a scheduler calls it: the real CLI on runs that were left in every way."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agentctl import Engine
from agentctl.testing import CrashPoint, SimulatedCrash
from tests.cli.doubt import Case, document
from tests.cli.harness import Result, run_cli, run_json
from tests.cli.test_approvals import Desk, write

if TYPE_CHECKING:
    from pathlib import Path

    from agentctl.jsonvalue import JsonObject

CHAIN: JsonObject = {
    "apiVersion": "agentctl.dev/v1",
    "kind": "Workflow",
    "metadata": {"name": "chain"},
    "spec": {
        "policy": {"approval": "never", "writableRoots": ["artifacts"]},
        "actions": {"write": {"kind": "builtin.write"}},
        "tasks": [write("one"), write("two", "one")],
    },
}


def crashed(folder: Path, count: int = 1) -> list[str]:
    """Leave runs whose process is gone between their two tasks; return their ids."""
    for _ in range(count):
        crash = CrashPoint(at=3)
        with (
            Engine(folder / "state.db", workspace=folder, wrap_store=crash.watch) as engine,
            pytest.raises(SimulatedCrash),
        ):
            engine.start_sync(engine.load(CHAIN))
    with Engine(folder / "state.db") as engine:
        return [run.id for run in engine.store.list_runs()]


def everything(folder: Path) -> Result:
    """Resume whatever is there."""
    return run_json("resume", "--all", "--db", str(folder / "state.db"))


def test_every_crashed_run_goes_on_to_its_end(tmp_path: Path) -> None:
    ids = crashed(tmp_path, 3)
    found = everything(tmp_path).expect(0)
    assert [one["runId"] for one in found.items("/data/runs")] == ids[::-1]
    assert {(one["result"], one["state"]) for one in found.items("/data/runs")} == {
        ("wentOn", "succeeded")
    }
    assert everything(tmp_path).expect(0).at("/data/runs") == []
    assert (
        "every run is over"
        in run_cli("resume", "--all", "--db", str(tmp_path / "state.db")).stdout
    )


def test_a_run_that_waits_for_a_person_is_named_and_its_journal_stays(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    run_id = desk.parked(desk.workflow(write("approved")))
    before = len(desk.json("inspect", run_id).items("/data/audit"))
    for _ in range(2):
        left = desk.json("resume", "--all").expect(3)
        assert left.at("/data/couldNot") == [run_id]
        assert "waits for a person" in left.text("/data/runs/0/reason")
        assert left.text("/data/runs/0/next").startswith("agentctl approvals approve ap-")
    assert len(desk.json("inspect", run_id).items("/data/audit")) == before
    shown = desk.cli("resume", "--all").expect(3).stdout
    assert run_id in shown
    assert "agentctl approvals approve" in shown
    desk.decide(run_id, "approve").expect(0)
    assert desk.json("resume", "--all").expect(0).at("/data/runs/0/state") == "succeeded"
    assert desk.written() is not None


def test_one_that_cannot_go_on_holds_up_no_other(tmp_path: Path) -> None:
    uncertain = Case(tmp_path, document("ask")).run_id
    (good,) = [one for one in crashed(tmp_path) if one != uncertain]
    found = everything(tmp_path).expect(3)
    assert found.at("/data/couldNot") == [uncertain]
    by_id = {one["runId"]: one for one in found.items("/data/runs")}
    assert by_id[good]["state"] == "succeeded"
    assert by_id[uncertain]["code"] == "uncertain_effect"
    assert "reconcile" in str(by_id[uncertain]["next"])


@pytest.mark.parametrize("more", [("r-1",), ("--raise-budget", "maxTurns=3"), ("--interactive",)])
def test_what_is_decided_for_one_run_does_not_go_with_all(
    tmp_path: Path, more: tuple[str, ...]
) -> None:
    crashed(tmp_path)
    shown = run_json("resume", "--all", *more, "--db", str(tmp_path / "state.db")).expect(2)
    assert "--timeout-seconds" in shown.text("/error/help")


def test_neither_a_run_nor_all_is_told(tmp_path: Path) -> None:
    assert "--all" in run_json("resume", "--db", str(tmp_path / "state.db")).expect(2).text(
        "/error/message"
    )
