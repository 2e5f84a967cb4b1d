"""Any one statement may fail: nothing half-written remains, and the run goes on."""

from __future__ import annotations

import shutil
import sqlite3
import threading
from collections import defaultdict
from typing import TYPE_CHECKING, Any

import pytest

from agentctl import Engine, StoreError
from agentctl.store import open_store
from agentctl.store.upkeep import check
from agentctl.store.verify import verify_run
from agentctl.testing import FixedEntropy, ManualClock
from tests.engine.harness import task, workflow

if TYPE_CHECKING:
    from pathlib import Path

    from agentctl.store.sqlite import SqliteStore

STATEMENTS_MAX = 400
NAMES = ("first", "left", "right", "again-0", "again-1", "last")


class Fault:
    """Fails one statement of this thread, or that one and all after it."""

    def __init__(self, at: int, *, for_good: bool = False) -> None:
        self.at = at
        self.for_good = for_good
        self.count = 0
        self.text = ""
        self.thread = threading.current_thread()

    def mend(self) -> None:
        """Fail no more."""
        self.at, self.for_good = 0, False

    def connect(self, path: Path, **how: Any) -> sqlite3.Connection:
        """Open a connection that counts its statements."""
        fault = self

        class Counting(sqlite3.Connection):
            def execute(self, text: str, *given: Any) -> sqlite3.Cursor:
                fault.strike(text)
                return super().execute(text, *given)

            def executemany(self, text: str, *given: Any) -> sqlite3.Cursor:
                fault.strike(text)
                return super().executemany(text, *given)

        return sqlite3.connect(path, factory=Counting, **how)

    def strike(self, text: str) -> None:
        """Count a statement, and fail when it is the one."""
        if threading.current_thread() is not self.thread:
            return
        self.count += 1
        if self.count == self.at or (self.for_good and self.count > self.at):
            self.text = self.text or text
            raise sqlite3.OperationalError("disk I/O error")


def document() -> dict[str, Any]:
    """Return parallel work, a loop and memory; every effect has a key."""

    def marked(name: str, *needs: str, **more: Any) -> dict[str, Any]:
        return task(name, "action:mark", *needs, **{"with_": {"line": name}, **more})

    loop = {"maxIterations": 2, "while": "${{ vars.loopIndex < 2 }}", "initial": None}
    return workflow(
        marked("first"),
        marked("left", "first"),
        marked("right", "first"),
        task("note", "action:remember", "left", with_={"key": "note", "value": "kept"}),
        marked("again", "right", loop=loop, with_={"line": "again-${{ vars.loopIndex }}"}),
        marked("last", "note", "again"),
        runtime={"maxConcurrency": 2},
        outputs={"note": "${{ memory.note }}"},
    )


class Outside:
    """A service that knows its keys: a second call with one leaves no second mark."""

    def __init__(self) -> None:
        self.marks: dict[str, set[str]] = defaultdict(set)

    def engine(self, folder: Path, fault: Fault | None = None) -> Engine:
        """Return an engine that touches this service."""

        def faulty(store: SqliteStore) -> SqliteStore:
            store.close()
            assert fault is not None
            return open_store(
                store.path, clock=ManualClock(), durability="normal", connect=fault.connect
            )

        engine = Engine(
            folder / "state.db",
            durability="normal",
            workspace=folder,
            clock=ManualClock(),
            entropy=FixedEntropy(),
            wrap_store=faulty if fault else None,
        )

        @engine.action("mark", idempotency="keyed")
        async def mark(line: str, idempotency_key: str) -> dict[str, str]:
            self.marks[line].add(idempotency_key)
            return {"line": line}

        return engine


def settled(folder: Path, outside: Outside) -> None:
    """Hold what a failure left against the promise, and bring the run to its end."""
    with outside.engine(folder) as engine:
        runs = engine.store.list_runs()
        if not runs:
            assert outside.marks == {}
            return
        run_id = runs[0].id
        assert check(engine.store) == []
        if runs[0].state != "succeeded":
            assert engine.resume_sync(run_id).state == "succeeded"
        assert verify_run(engine.store, run_id) == []
        assert engine.history(run_id).run.output == {"note": "kept"}
    assert {name: len(keys) for name, keys in outside.marks.items()} == dict.fromkeys(NAMES, 1)


@pytest.mark.parametrize("for_good", [False, True], ids=["once", "for good"])
def test_a_run_survives_the_failure_of_any_one_statement(tmp_path: Path, for_good: bool) -> None:
    """Fail the first statement, the second, and so on, until a run passes untouched."""
    blank = tmp_path / "blank.db"
    open_store(blank).close()
    for at in range(1, STATEMENTS_MAX):
        folder = tmp_path / str(at)
        folder.mkdir()
        shutil.copy(blank, folder / "state.db")
        fault, outside = Fault(at, for_good=for_good), Outside()
        engine = outside.engine(folder, fault)
        try:
            outcome = engine.start_sync(engine.load(document()))
        except StoreError as error:
            assert fault.text, error
        else:
            if not fault.text:
                assert outcome.state == "succeeded"
                return
        finally:
            # The disk works again while the process lives on.
            fault.mend()
            engine.close()
        settled(folder, outside)
    pytest.fail(f"no run passed within {STATEMENTS_MAX} statements")


def test_a_migration_that_fails_leaves_nothing_and_is_made_later(tmp_path: Path) -> None:
    for at in range(1, STATEMENTS_MAX):
        path = tmp_path / f"{at}.db"
        fault = Fault(at)
        try:
            open_store(path, connect=fault.connect).close()
        except StoreError as error:
            assert "disk I/O error" in error.message
        else:
            break
        store = open_store(path)
        assert check(store) == []
        store.close()
    assert at > len(("application_id", "journal_mode", "synchronous", "BEGIN", "COMMIT"))
