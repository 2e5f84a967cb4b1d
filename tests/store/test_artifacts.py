"""Artifacts and their references: never one without the other, whenever a process dies."""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import subprocess
import sys
import threading
from typing import TYPE_CHECKING

import pytest

from agentctl.engine.apply import Work
from agentctl.errors import ArtifactDamaged, StoreBusy, StoreError, UsageError
from agentctl.store import open_store
from agentctl.store.artifacts import blobs, export, references, resolve
from agentctl.store.blobs import INCOMING
from agentctl.store.collect import collect
from agentctl.store.upkeep import check
from agentctl.store.verify import verify_all, verify_run
from agentctl.testing import EPOCH, ManualClock
from tests.code.tree import ROOT
from tests.store.harness import new_run, started, tampering
from tests.store.keeping import DATA, publish, reference

if TYPE_CHECKING:
    from pathlib import Path

    from agentctl.store.sqlite import SqliteStore

DIGEST = hashlib.sha256(DATA).hexdigest()
STEPS_MAX = 60


def work(folder: Path, command: str, step: int = 0) -> subprocess.CompletedProcess[str]:
    """Run the worker to its end, or to its death before a step."""
    return subprocess.run(
        [sys.executable, "-m", "tests.store.keeping", str(folder), command, str(step)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def steps_of(folder: Path, command: str) -> int:
    """Return how many steps there are when nothing dies."""
    done = work(folder, command)
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


def opened(folder: Path) -> SqliteStore:
    """Open the store as the next process does."""
    return open_store(
        folder / "state.db", clock=ManualClock(), durability="normal", busy_timeout_ms=0
    )


def test_an_ingestion_that_dies_at_any_step_is_recovered(tmp_path: Path) -> None:
    """Nothing is ever referred to that is not whole on the disk, and what is left is removed."""
    (tmp_path / "whole").mkdir()
    steps = steps_of(tmp_path / "whole", "ingest")
    assert 10 < steps < STEPS_MAX
    recorded = []
    for step in range(1, steps + 1):
        folder = tmp_path / str(step)
        folder.mkdir()
        assert work(folder, "ingest", step).returncode == -signal.SIGKILL
        store = opened(folder)
        assert check(store) == []
        # A name appears only with all of its bytes.
        assert all(store.blobs.problem(digest) is None for digest in store.blobs.digests())
        recorded.append(bool(store.load_run("run-1").artifacts))
        collect(store)
        assert store.blobs.leftovers() == []
        assert list(store.blobs.digests()) == [DIGEST] * recorded[-1]
        assert verify_all(store) == []
        # The run goes on as if nothing had happened.
        journal = store.claim_run("run-1", EPOCH)
        assert journal.artifacts.ingest(DATA) == DIGEST
        publish(journal, DIGEST, 2)
        journal.release()
        assert verify_all(store) == []
        store.close()
    assert recorded == sorted(recorded)
    assert recorded[0] is False
    assert recorded[-1] is True


def littered(folder: Path) -> None:
    """Make a store with one artifact in use, three that are not, and two unfinished files."""
    folder.mkdir()
    store = opened(folder)
    journal, _ = started(store)
    publish(journal, journal.artifacts.ingest(DATA))
    for number in range(3):
        journal.artifacts.forgo(journal.artifacts.ingest(f"loose {number}".encode()))
    journal.release()
    for number in range(2):
        (store.blobs.root / INCOMING / f"1-1-{number}").write_bytes(b"half")
    store.close()


def test_a_collection_that_dies_at_any_step_is_finished_by_the_next(tmp_path: Path) -> None:
    littered(tmp_path / "blank")
    shutil.copytree(tmp_path / "blank", tmp_path / "whole")
    steps = steps_of(tmp_path / "whole", "collect")
    assert 5 <= steps < STEPS_MAX
    for step in range(1, steps + 1):
        folder = tmp_path / str(step)
        shutil.copytree(tmp_path / "blank", folder)
        assert work(folder, "collect", step).returncode == -signal.SIGKILL
        store = opened(folder)
        assert verify_all(store) == []
        assert collect(store).kept == 1
        assert list(store.blobs.digests()) == [DIGEST]
        assert store.blobs.leftovers() == []
        assert collect(store).freed_bytes == 0
        store.close()


def test_what_a_live_run_is_about_to_refer_to_is_not_collected(tmp_path: Path) -> None:
    mine, other = opened(tmp_path), opened(tmp_path)
    journal, _ = started(mine)
    digest = journal.artifacts.ingest(DATA)
    with pytest.raises(StoreBusy):
        collect(other)
    publish(journal, digest)
    assert collect(other).kept == 1
    assert verify_all(other) == []
    mine.close()
    other.close()


@pytest.mark.parametrize("how", ["forgone", "released", "closed"])
def test_what_no_commit_will_refer_to_is_collected(tmp_path: Path, how: str) -> None:
    mine, other = opened(tmp_path), opened(tmp_path)
    journal, _ = started(mine)
    digest = journal.artifacts.ingest(DATA)
    if how == "forgone":
        journal.artifacts.forgo(digest)
    elif how == "released":
        journal.release()
    else:
        mine.close()
    found = collect(other, plan=True)
    assert found.blobs == ((DIGEST, len(DATA)),)
    assert collect(other) == found
    assert list(other.blobs.digests()) == []
    mine.close()
    other.close()


def test_a_commit_settles_only_what_it_refers_to(tmp_path: Path) -> None:
    mine, other = opened(tmp_path), opened(tmp_path)
    journal, _ = started(mine)
    first, second = (journal.artifacts.ingest(DATA) for _ in range(2))
    publish(journal, first)
    with pytest.raises(StoreBusy):
        collect(other)
    publish(journal, second, 2)
    assert collect(other).kept == 1
    mine.close()
    other.close()


def test_a_commit_that_fails_keeps_what_it_would_have_referred_to(tmp_path: Path) -> None:
    store, other = opened(tmp_path), opened(tmp_path)
    journal, _ = started(store)
    digest = journal.artifacts.ingest(DATA)
    publish(journal, digest)
    journal.artifacts.ingest(DATA)
    bad = Work()
    # The same place again: the database refuses it.
    bad.add(reference(digest))
    with pytest.raises(StoreError):
        journal.commit(bad)
    with pytest.raises(StoreBusy):
        collect(other)
    journal.release()
    assert collect(other).kept == 1
    store.close()
    other.close()


def test_runs_that_keep_and_a_collector_do_not_harm_each_other(tmp_path: Path) -> None:
    open_store(tmp_path / "state.db").close()
    failed: list[BaseException] = []

    def keep(name: str) -> None:
        try:
            store = open_store(tmp_path / "state.db", durability="normal")
            journal, _ = started(store, new_run(name))
            for number in range(1, 13):
                # Some bytes are everybody's, some are forgone: the collector meets both.
                digest = journal.artifacts.ingest(f"bytes {number}".encode())
                journal.artifacts.forgo(journal.artifacts.ingest(f"{name} {number}".encode()))
                publish(journal, digest, number)
            journal.release()
            store.close()
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=keep, args=(f"run-{number}",)) for number in range(3)]
    for one in threads:
        one.start()
    collector = open_store(tmp_path / "state.db", durability="normal")
    while any(one.is_alive() for one in threads):
        collect(collector)
    assert failed == []
    assert verify_all(collector) == []
    assert collect(collector).kept == 12
    collector.close()


@pytest.mark.parametrize("column", ["digest", "state", "version"])
def test_a_reference_that_was_tampered_with_is_found(store: SqliteStore, column: str) -> None:
    journal, _ = started(store)
    publish(journal, journal.artifacts.ingest(DATA))
    assert verify_run(store, "run-1") == []
    value = {"digest": "zeroblob(32)", "state": "'synced'", "version": "7"}[column]
    with tampering(store.path) as connection:
        connection.execute(f"UPDATE artifact SET {column} = {value}")
    (found,) = verify_run(store, "run-1")
    assert found.entity == "artifact one/1.1#1"


def test_missing_bytes_are_named_by_their_digest(store: SqliteStore) -> None:
    journal, _ = started(store)
    publish(journal, journal.artifacts.ingest(DATA))
    store.blobs.path_of(DIGEST).unlink()
    (found,) = verify_run(store, "run-1")
    assert found.message == f"the bytes of {DIGEST} (out/1.txt) are missing"
    with pytest.raises(ArtifactDamaged, match=f"{DIGEST} is missing"):
        store.check_artifacts("run-1")


def test_references_are_counted_over_all_runs(store: SqliteStore) -> None:
    for name in ("run-1", "run-2"):
        journal, _ = started(store, new_run(name))
        publish(journal, journal.artifacts.ingest(DATA))
    assert [one.run_id for one in references(store)] == ["run-1", "run-2"]
    assert references(store, "run-2")[0].artifact == store.load_run("run-2").artifacts[0]
    (blob,) = blobs(store).values()
    assert (blob.references, blob.size_bytes, blob.stored_bytes) == (2, len(DATA), len(DATA))


def test_a_beginning_that_fits_several_digests_is_refused() -> None:
    known = ["ab" + "0" * 62, "ab" + "1" * 62, "cd" + "0" * 62]
    assert resolve(known, "c") == known[2]
    assert resolve(known, "AB0") == known[0]
    with pytest.raises(UsageError, match="more than one artifact begins with 'ab'"):
        resolve(known, "ab")


def test_an_export_that_cannot_be_written_leaves_nothing(
    store: SqliteStore, tmp_path: Path
) -> None:
    journal, _ = started(store)
    publish(journal, journal.artifacts.ingest(DATA))
    (tmp_path / "file").write_text("dear", encoding="utf-8")
    with pytest.raises(UsageError, match="cannot be written"):
        export(store, DIGEST, str(tmp_path / "file" / "copy"))
    (tmp_path / "folder").mkdir()
    with pytest.raises(UsageError, match="cannot be written"):
        export(store, DIGEST, str(tmp_path / "folder"), force=True)
    left = [path.name for path in tmp_path.rglob("*") if path.name.endswith(".part")]
    assert left == []
