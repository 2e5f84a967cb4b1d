"""`gc`: what goes, what stays, and that a collection may be killed anywhere."""

from __future__ import annotations

import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from agentctl import Engine
from agentctl.testing import EPOCH, ManualClock
from tests.cli.doubt import Case, document
from tests.cli.harness import ROOT, Result, environment, run_cli, run_json
from tests.cli.test_approvals import Desk as Asking
from tests.cli.test_journeys import Desk
from tests.cli.test_start_keys import writing
from tests.store.harness import tampering

if TYPE_CHECKING:
    from pathlib import Path

DAY = 86_400_000_000
STATEMENTS_MAX = 200


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """Return a fresh folder with a database."""
    return Desk(tmp_path)


def kept(desk: Desk) -> list[object]:
    """Return the ids of the runs that are there, the latest first."""
    listed = run_json("runs", "--db", str(desk.db)).expect(0).items("/data")
    return [one["runId"] for one in listed]


def gc(desk: Desk, *args: str) -> Result:
    """Collect."""
    return run_json("gc", *args, "--db", str(desk.db)).expect(0)


def removed(result: Result) -> list[object]:
    """Return the ids of the runs that went."""
    return [one["runId"] for one in result.items("/data/runs")]


def sound(db: Path) -> None:
    """Hold that pages, references, journals and artifacts of a database are whole."""
    assert run_json("db", "check", "--db", str(db)).expect(0).at("/data/valid") is True


def write_thrice(desk: Desk) -> list[str]:
    """Leave three runs that wrote three texts; return their ids, the latest first."""
    file = desk.file("w.json", writing())
    texts = ("text=one", "text=two", "text=three")
    return [desk.run(file, "--input", one).expect(0).text("/data/runId") for one in texts][::-1]


def test_all_but_the_latest_go_with_their_artifacts(desk: Desk) -> None:
    ids = write_thrice(desk)
    planned = gc(desk, "--keep", "1", "--dry-run")
    assert kept(desk) == ids
    done = gc(desk, "--keep", "1")
    assert removed(planned) == removed(done) == ids[:0:-1]
    artifacts = [one["digest"] for one in done.items("/data/artifacts")]
    assert len(artifacts) == 2
    assert sorted(map(str, artifacts)) == sorted(
        str(one["digest"]) for one in planned.items("/data/artifacts")
    )
    assert planned.at("/data/freedBytes") == done.at("/data/freedBytes")
    assert kept(desk) == ids[:1]
    sound(desk.db)
    assert removed(gc(desk, "--keep", "0")) == ids[:1]
    with tampering(desk.db) as connection:
        tables = [row[0] for row in connection.execute("SELECT name FROM sqlite_schema WHERE sql")]
        left = {
            name
            for name in tables
            if connection.execute(f"SELECT count(*) FROM {name}").fetchone()[0]
        }
    assert left <= {"migration", "machine_edge", "sqlite_sequence"}


def test_runs_go_by_age_and_state(desk: Desk) -> None:
    failing = writing()
    spec = failing["spec"]
    assert isinstance(spec, dict)
    spec["actions"] = {"write": {"kind": "builtin.assert"}}
    spec["tasks"] = [{"id": "no", "uses": "action:write", "with": {"that": False}}]
    clock = ManualClock(EPOCH)
    with Engine(desk.db, workspace=desk.folder, clock=clock) as engine:
        old = engine.start_sync(engine.load(writing())).run_id
        failed = engine.start_sync(engine.load(failing)).run_id
    new = desk.run(desk.file("w.json", writing())).expect(0).text("/data/runId")
    assert removed(gc(desk, "--older-than", "1d", "--state", "failed")) == [failed]
    assert removed(gc(desk, "--older-than", "1d", "--dry-run")) == [old]
    assert removed(gc(desk, "--older-than", "1d")) == [old]
    assert kept(desk) == [new]
    assert removed(gc(desk)) == []


def test_a_state_that_is_no_end_is_refused(desk: Desk) -> None:
    write_thrice(desk)
    refused = run_json("gc", "--state", "paused", "--db", str(desk.db)).expect(2)
    assert "paused: a run that is not over stays" in refused.text("/error/message")
    assert len(kept(desk)) == 3


def test_a_run_that_is_not_over_stays(tmp_path: Path) -> None:
    desk = Asking(tmp_path)
    run_id = desk.parked()
    assert desk.json("gc", "--keep", "0").expect(0).at("/data/runs") == []
    desk.decide(run_id, "approve").expect(0)
    desk.json("resume", run_id).expect(0)
    assert desk.json("gc", "--keep", "0").expect(0).text("/data/runs/0/runId") == run_id


def test_a_run_that_is_over_and_in_doubt_stays_and_is_named(tmp_path: Path) -> None:
    case = Case(tmp_path, document("ask"))
    case.json("resume", case.run_id).expect(3)
    case.json("cancel", case.run_id).expect(0)
    left = case.json("gc", "--keep", "0").expect(0)
    assert left.at("/data/runs") == []
    assert left.at("/data/kept/0/runId") == case.run_id
    assert left.at("/data/kept/0/reason") == "uncertain_effect"
    assert "reconcile" in case.cli("gc", "--keep", "0").expect(0).stdout


def test_a_derived_run_needs_nothing_of_its_source(desk: Desk) -> None:
    source = desk.run(desk.file("w.json", writing())).expect(0).text("/data/runId")
    copy = desk.on("replay", source).expect(0).text("/data/runId")
    assert removed(gc(desk, "--keep", "1")) == [source]
    sound(desk.db)
    assert desk.inspect(copy).at("/data/run/sourceRunId") == source
    assert desk.on("fork", copy).expect(0).at("/data/state") == "succeeded"


def test_a_key_of_a_collected_run_starts_new_work(desk: Desk) -> None:
    file = desk.file("w.json", writing())
    first = desk.run(file, "--key", "k").expect(0).text("/data/runId")
    assert removed(gc(desk, "--keep", "0")) == [first]
    (desk.folder / "said.txt").unlink()
    again = desk.run(file, "--key", "k").expect(0)
    assert again.at("/data/existing") is False
    assert again.at("/data/runId") != first
    assert (desk.folder / "said.txt").exists()


def test_orphans_are_named_and_removed(desk: Desk) -> None:
    write_thrice(desk)
    with tampering(desk.db) as connection:
        connection.execute("INSERT INTO document VALUES ('d0', 'plan', x'00')")
    blob = desk.db.with_name("runtime.db.artifacts") / "00" / ("0" * 62)
    blob.parent.mkdir(exist_ok=True)
    blob.write_bytes(b"loose")
    shown = run_cli("gc", "--dry-run", "--db", str(desk.db)).expect(0).stdout
    assert "plan d0 has no run" in shown
    assert f"artifact {'0' * 64} has no run" in shown
    assert blob.exists()
    assert gc(desk).at("/data/documents/0/digest") == "d0"
    assert not blob.exists()
    assert len(kept(desk)) == 3
    sound(desk.db)


def test_a_collection_that_is_killed_at_any_statement_leaves_whole_runs(desk: Desk) -> None:
    ids = set(write_thrice(desk)[:2])
    gc(desk, "--keep", "2")
    for number in range(1, STATEMENTS_MAX):
        place = desk.folder / "copy"
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()
        db = place / "runtime.db"
        shutil.copy(desk.db, db)
        shutil.copytree(f"{desk.db}.artifacts", f"{db}.artifacts")
        worker = [sys.executable, "-m", "tests.store.gc_worker", str(db), str(number)]
        ended = subprocess.run(worker, cwd=ROOT, env=environment(), check=False)
        with Engine(db) as engine:
            left = {run.id for run in engine.store.list_runs()}
            assert left <= ids
            for run_id in left:
                assert len(engine.history(run_id).tasks) == 1
        if ended.returncode == 0:
            break
        assert ended.returncode == -9
        if number % 5 == 0:
            sound(db)
    assert number > 40
    assert left == set()
