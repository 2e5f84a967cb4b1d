"""Power is lost at every single write of a run, and nothing that was promised is lost with it.

A real process runs a workflow; strace records each write, truncation, sync, rename and removal
below its folder, and each line that it says, in order. Then the folder is rebuilt as it may be
found after the power has failed at each of these points:

* everything that was written is there,
* only what was synchronised is there,
* of what was not synchronised, each change is lost, there by half, or there, by lot.

Each of them is opened as a user would open it. It must be sound from the pages up to the
machines' tables; hold every commit that had returned, every effect that had been dispatched, and
the bytes of every artifact; and the workspace must hold the file of every confirmed write.
"""

from __future__ import annotations

import hashlib
import json
import random
import shutil
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest

from agentctl.machines.names import EffectStates
from agentctl.store import open_store
from agentctl.store.upkeep import check
from agentctl.testing import ManualClock
from tests.crash.disk import Disk, write_out
from tests.crash.power_worker import DATABASE, WORKSPACE
from tests.crash.recording import Event, record

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentctl.engine.apply import Record
    from agentctl.store.sqlite import SqliteStore
    from tests.crash.disk import Fate, Tree

WORKER = Path(__file__).with_name("power_worker.py")
# So many that the log is folded into the database in the middle, and begun again.
GROUPS = 24
POINTS_MIN = 2000
PARTS = 2
MEMORY = Path("/dev/shm")
OPENED = tuple(f"{DATABASE}{end}" for end in ("", "-wal", "-shm", "-journal"))
LOOKED_AT = (f"{DATABASE}.artifacts/", f"{WORKSPACE}/")

pytestmark = pytest.mark.skipif(shutil.which("strace") is None, reason="strace is missing")


class Promises:
    """What the process had said by some moment."""

    def __init__(self) -> None:
        self.versions: dict[tuple[str, str], int] = {}
        self.dispatched: set[str] = set()

    def hear(self, event: Event) -> None:
        """Take in one thing that was said."""
        for line in event.data.splitlines():
            said = json.loads(line)
            if "dispatched" in said:
                self.dispatched.add(said["dispatched"])
            for name, version in said.get("committed", {}).items():
                self.versions[said["run"], name] = version

    def broken(self, found: Found) -> list[str]:
        """Return what was said and is not there."""
        lost = [
            f"{name}: version {found.versions.get((run, name))}, not {version}"
            for (run, name), version in self.versions.items()
            if found.versions.get((run, name), -1) < version
        ]
        return lost + sorted(self.dispatched - found.started)


class Found:
    """What a database holds after it was opened again; nothing, if there is none."""

    def __init__(self) -> None:
        self.versions: dict[tuple[str, str], int] = {}
        self.started: set[str] = set()
        self.problems: list[str] = []

    def look(self, store: SqliteStore, workspace: Path) -> Found:
        """Check everything, and take note of it."""
        self.problems = check(store)
        for run in store.list_runs():
            history = store.load_run(run.id)
            records: list[Record] = [history.run, *history.tasks, *history.effects]
            for one in [*records, *history.iterations, *history.artifacts]:
                self.versions[run.id, f"{one.machine} {one.entity}"] = one.version
            for effect in history.effects:
                if effect.started_at is not None:
                    self.started.add(f"agentctl-{effect.key_digest}")
                wrote = effect.operation == "builtin.write"
                if wrote and effect.state == EffectStates.succeeded:
                    self._hold_against(cast("dict[str, Any]", effect.result), workspace)
        return self

    def _hold_against(self, result: dict[str, Any], workspace: Path) -> None:
        """Look for the file of a confirmed write."""
        path, digest = result["output"]["path"], result["output"]["sha256"]
        place = workspace / path
        data = place.read_bytes() if place.exists() else b""
        if hashlib.sha256(data).hexdigest() != digest:
            self.problems.append(f"the confirmed file {path} is not there")


class Inspector:
    """Opens trees in one folder; where the same bytes come up again it knows what they hold."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._there: Tree = {}
        self._digests: dict[str, bytes] = {}
        self._known: dict[bytes, Found] = {}
        self.opened = 0

    def found_in(self, tree: Tree) -> Found:
        """Return what a tree's database holds; nothing when there is none yet."""
        if str(DATABASE) not in tree:
            return Found()
        self._lay(tree)
        self.opened += 1
        place = self._folder / DATABASE
        store = open_store(place, clock=ManualClock(), durability="normal")
        try:
            # Folded in, the database is what the log and the file come to together.
            store.database.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            key = self._key(place.read_bytes())
            if key not in self._known:
                self._known[key] = Found().look(store, self._folder / WORKSPACE)
            return self._known[key]
        finally:
            store.close()

    def _lay(self, tree: Tree) -> None:
        """Make the folder hold a tree; what opening changes, the database's files, is new."""
        for path in OPENED:
            _remove(self._folder / path)
        for path in sorted(self._there.keys() - tree.keys(), reverse=True):
            del self._there[path], self._digests[path]
            _remove(self._folder / path)
        new: Tree = {
            path: data
            for path, data in tree.items()
            if path not in self._there or self._there[path] != data
        }
        write_out(new, self._folder)
        for path, data in new.items():
            if path not in OPENED:
                self._there[path] = None if data is None else bytes(data)
                self._digests[path] = hashlib.sha256(data or b"").digest()

    def _key(self, database: bytes) -> bytes:
        """Return a digest of all that is looked at: a database, its artifacts, the workspace.

        What interrupted ingestions leave in `incoming` is looked at by nobody.
        """
        found = hashlib.sha256(database)
        for path, digest in sorted(self._digests.items()):
            if path.startswith(LOOKED_AT) and "/incoming/" not in path:
                found.update(path.encode() + b"\0" + digest)
        return found.digest()


def _remove(place: Path) -> None:
    if place.is_dir():
        place.rmdir()
    else:
        place.unlink(missing_ok=True)


@pytest.fixture
def fast_folder(tmp_path: Path) -> Iterator[Path]:
    """A folder in memory where there is one; thousands of databases are opened there."""
    if not MEMORY.is_dir():
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        yield Path(folder)


def recorded(folder: Path) -> list[Event]:
    """Run the worker; the folder that holds everything and the workspace are there before."""
    (folder / "all" / WORKSPACE).mkdir(parents=True)
    command = [sys.executable, str(WORKER), str(folder / "all"), str(GROUPS)]
    return record(command, folder / "all", folder / "trace")


def trees(disk: Disk, event: Event, lot: random.Random) -> Iterator[tuple[str, Tree]]:
    """Return what may be found if the power is lost right after an event."""
    if event.kind in ("synced", "said"):
        yield "only what was synchronised", disk.certainly()
        return
    yield "all that was written", disk.written()
    weights = lot.choice(((8, 1, 1), (1, 1, 1), (1, 1, 8)))
    fates: tuple[Fate, ...] = ("lost", "half", "kept")
    yield "by lot", disk.perhaps(lambda: lot.choices(fates, weights)[0])


@pytest.mark.parametrize("part", range(PARTS))
def test_whatever_moment_the_power_fails_nothing_promised_is_lost(
    tmp_path: Path, fast_folder: Path, part: int
) -> None:
    """Every second point in each part."""
    disk, promises, inspector = Disk([str(WORKSPACE)]), Promises(), Inspector(fast_folder)
    points = said = 0
    for event in recorded(tmp_path):
        if event.kind == "said":
            said += 1
            promises.hear(event)
        elif disk.apply(event):
            points += 1
        else:
            continue
        if (points + said) % PARTS != part:
            continue
        for name, tree in trees(disk, event, random.Random(points)):
            found = inspector.found_in(tree)
            where = f"point {points}: {event.kind} {event.path}; {name}"
            assert found.problems == [], where
            assert promises.broken(found) == [], where
    assert points >= POINTS_MIN
    assert inspector.opened >= points // PARTS
    assert len(promises.versions) > said / 2


def test_the_recording_is_complete(tmp_path: Path) -> None:
    """What was recorded comes to what lies in the folder; the log was folded in on the way."""
    disk = Disk([str(WORKSPACE)])
    kinds: Counter[tuple[str, str]] = Counter()
    for event in recorded(tmp_path):
        kinds[event.kind, event.path] += 1
        if event.kind != "said":
            disk.apply(event)
    write_out(disk.written(), tmp_path / "again")
    assert contents(tmp_path / "again") == contents(tmp_path / "all")
    assert kinds["synced", f"{DATABASE}"] > 2
    assert kinds["remove", f"{DATABASE}-wal"] >= 1


def contents(folder: Path) -> dict[str, bytes | None]:
    """Return what lies in a folder."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in folder.rglob("*")
    }
