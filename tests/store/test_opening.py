"""Opening a file: modes, what is refused, and what is said about it."""

from __future__ import annotations

import ctypes
import os
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from agentctl.engine.apply import Work
from agentctl.errors import (
    StoreBusy,
    StoreCorrupt,
    StoreFull,
    StoreReadOnly,
    StoreUnsafe,
    UsageError,
)
from agentctl.store import open_store
from agentctl.store.filesystem import filesystem_of, is_shared, refuse_shared
from agentctl.store.verify import verify_run
from tests.store.harness import admitted, new_run, started, tampering

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentctl.store.sqlite import SqliteStore


WRITER = Path(__file__).with_name("writer.py")


def mode(path: Path) -> int:
    """Return the permission bits of a file."""
    return path.stat().st_mode & 0o777


def test_the_database_and_its_log_are_readable_by_their_owner_alone(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        store = open_store(tmp_path / "new" / "state.db")
        started(store)
        assert mode(tmp_path / "new") == 0o700
        for suffix in ("", "-wal", "-shm"):
            assert mode(Path(f"{store.path}{suffix}")) == 0o600
        store.close()
    finally:
        os.umask(before)


def test_a_link_to_a_file_that_is_not_there_yet_makes_that_file(tmp_path: Path) -> None:
    (tmp_path / "link.db").symlink_to(tmp_path / "state.db")
    open_store(tmp_path / "link.db").close()
    assert mode(tmp_path / "state.db") == 0o600


def test_the_log_is_folded_in_when_the_last_one_leaves(store: SqliteStore) -> None:
    started(store)
    store.close()
    assert [path.name for path in store.path.parent.iterdir()] == ["state.db"]


def test_opening_a_file_once_more_loses_nothing_that_others_write(store: SqliteStore) -> None:
    """Closing a file gives up every lock that the process holds on it, so nothing may just close it.

    Whoever leaves next would take itself for the last one, and throw the log away under the rest.
    """
    started(store, new_run("first"))[0].release()
    open_store(store.path).close()
    write_elsewhere(store.path, "second")
    started(store, new_run("third"))[0].release()
    assert {one.id for one in store.list_runs()} == {"first", "second", "third"}
    write_elsewhere(store.path, "fourth")
    assert len(store.list_runs()) == 4
    store.close()
    with tampering(store.path) as connection:
        stored = {row[0] for row in connection.execute("SELECT id FROM run")}
    assert stored == {"first", "second", "third", "fourth"}


def write_elsewhere(path: Path, run_id: str) -> None:
    """Store a run from a process of its own."""
    subprocess.run(
        [sys.executable, str(WRITER), str(path), run_id],
        check=True,
        env={**os.environ, "PYTHONPATH": str(WRITER.parents[2])},
    )


def test_a_database_that_must_exist_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no database at"):
        open_store(tmp_path / "state.db", create=False)
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_no_database_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    path.write_text("a letter, of more than a page\n" * 200, encoding="utf-8")
    before = path.read_bytes()
    with pytest.raises(StoreCorrupt, match="not a usable database"):
        open_store(path)
    assert path.read_bytes() == before


def test_the_database_of_another_program_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    with tampering(path) as connection:
        connection.execute("CREATE TABLE theirs (a)")
    before = path.read_bytes()
    with pytest.raises(StoreCorrupt, match="of another program"):
        open_store(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("name", ["file/state.db", ".", "nul\0byte"])
def test_a_path_that_cannot_be_a_file_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreReadOnly, match="cannot be opened for writing") as caught:
        open_store(tmp_path / name)
    assert caught.value.help


def test_a_file_that_turns_out_to_be_read_only_is_named(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    open_store(path).close()

    def read_only(place: Path, **how: object) -> sqlite3.Connection:
        return sqlite3.connect(f"{place.as_uri()}?mode=ro", uri=True, **how)  # type: ignore[call-overload,no-any-return]

    store = open_store(path, connect=read_only)
    with pytest.raises(StoreReadOnly, match="cannot be written"):
        started(store)
    store.close()


def test_a_writer_that_waits_too_long_is_told_so_and_writes_nothing(tmp_path: Path) -> None:
    store = open_store(tmp_path / "state.db", busy_timeout_ms=1)
    journal, _ = started(store)
    with tampering(store.path) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreBusy, match="more than 1 ms"):
            journal.commit(admitted(new_run().tasks[0])[0])
        other.execute("ROLLBACK")
    assert len(store.transitions("run-1")) == 1
    journal.commit(admitted(new_run().tasks[0])[0])
    assert verify_run(store, "run-1") == []
    store.close()


def test_several_may_open_a_new_database_at_the_same_moment(tmp_path: Path) -> None:
    gate = threading.Barrier(6)
    failed: list[BaseException] = []

    def open_one() -> None:
        gate.wait()
        try:
            open_store(tmp_path / "state.db").close()
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=open_one) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of one mebibyte."""
    place = tmp_path / "disk"
    place.mkdir()
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(b"none", bytes(place), b"tmpfs", 0, b"size=1m") != 0:
        pytest.skip(f"mounting is not permitted: {os.strerror(ctypes.get_errno())}")
    yield place
    libc.umount(bytes(place))


def test_a_full_disk_is_said_and_the_run_goes_on_when_there_is_room(small_disk: Path) -> None:
    store = open_store(small_disk / "state.db")
    journal, _ = started(store)
    free = os.statvfs(small_disk)
    filler = small_disk / "filler"
    filler.write_bytes(bytes(free.f_bavail * free.f_frsize))
    task = new_run().tasks[0]
    work = Work()
    moved = work.move(task, "admit", 1, detail="x" * 100_000)
    with pytest.raises(StoreFull, match="the last commit was not stored"):
        journal.commit(work)
    filler.unlink()
    assert len(store.transitions("run-1")) == 1
    journal.commit(work)
    assert store.load_run("run-1").tasks[0] == moved
    assert verify_run(store, "run-1") == []
    store.close()


MOUNTS = r"""
22 1 8:1 / / rw shared:1 - ext4 /dev/root rw
23 22 0:5 / /net rw - nfs4 server:/net rw
24 22 0:6 / /net/local rw,relatime shared:2 master:1 - xfs /dev/b rw
25 22 0:7 / /with\040space rw - fuse.sshfs host: rw
26 22 0:8 / /share rw - 9p tag rw
27 22 0:9 / /twice rw - nfs server:/a rw
28 22 0:10 / /twice rw - tmpfs none rw
29 22 0:11 / /block rw - fuseblk /dev/c rw
30 22 broken line
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/etc/state.db", "ext4"),
        ("/net/ada/state.db", "nfs4"),
        ("/network/state.db", "ext4"),
        ("/net/local/state.db", "xfs"),
        ("/with space/state.db", "fuse.sshfs"),
        ("/share/deep/er/state.db", "9p"),
        ("/twice/state.db", "tmpfs"),
        ("/block/state.db", "fuseblk"),
    ],
)
def test_the_file_system_of_a_path_is_the_newest_innermost_mount(
    tmp_path: Path, path: str, kind: str
) -> None:
    table = tmp_path / "mountinfo"
    table.write_text(MOUNTS, encoding="utf-8")
    assert filesystem_of(Path(path), table) == kind


def test_a_shared_file_system_is_refused_unless_a_slower_journal_will_do(tmp_path: Path) -> None:
    table = tmp_path / "mountinfo"
    table.write_text(MOUNTS, encoding="utf-8")
    shared, local = Path("/net/state.db"), Path("/net/local/state.db")
    with pytest.raises(StoreUnsafe, match="nfs4") as caught:
        refuse_shared(shared, allow=False, mounts=table)
    assert "shared_filesystem=True" in str(caught.value.help)
    assert not refuse_shared(shared, allow=True, mounts=table)
    assert refuse_shared(local, allow=False, mounts=table)
    assert refuse_shared(local, allow=False, mounts=tmp_path / "none")


@pytest.mark.parametrize("kind", ["nfs", "nfs4", "fuse", "fuse.sshfs", "9p", "cifs", "virtiofs"])
def test_network_and_shared_folder_types_are_known(kind: str) -> None:
    assert is_shared(kind)


@pytest.mark.parametrize("kind", ["ext4", "xfs", "btrfs", "tmpfs", "overlay", "fuseblk", ""])
def test_local_types_are_not_refused(kind: str) -> None:
    assert not is_shared(kind)
