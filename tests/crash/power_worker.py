"""A process whose every write is recorded, and that says what it believes to be safe.

    python power_worker.py FOLDER GROUPS

It runs one workflow of GROUPS groups: a file is written and read back, three effects go on side
by side, and a loop goes round twice. Some files are there already when they are written, left by
somebody who did not wait for the disk. The database lies in a folder that is not there yet. One
line of JSON tells every commit once it has returned, and every effect as it is dispatched:

    {"run": ID, "committed": {"MACHINE ENTITY": VERSION, …}}
    {"dispatched": KEY}
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from agentctl import Engine

if TYPE_CHECKING:
    from agentctl.engine.apply import Work
    from agentctl.engine.ports import NewRun
    from agentctl.store.journal import RunJournal
    from agentctl.store.sqlite import SqliteStore

DATABASE = Path("own/.agentctl/state.db")
WORKSPACE = Path("work")


def tell(**line: object) -> None:
    """Say one thing in one system call."""
    os.write(1, (json.dumps(line) + "\n").encode())


class TellingStore:
    """A store whose journals tell what they have committed."""

    def __init__(self, store: SqliteStore) -> None:
        self._store = store

    def __getattr__(self, name: str) -> object:
        """Pass everything else through."""
        return getattr(self._store, name)

    def create_run(self, new: NewRun, work: Work) -> TellingJournal:
        """Tell that a run is stored."""
        journal = TellingJournal(self._store.create_run(new, work))
        journal.told(work)
        return journal


class TellingJournal:
    """A journal that tells what it has committed."""

    def __init__(self, journal: RunJournal) -> None:
        self._journal = journal

    def __getattr__(self, name: str) -> object:
        """Pass everything else through."""
        return getattr(self._journal, name)

    def commit(self, work: Work) -> None:
        """Commit, then tell."""
        self._journal.commit(work)
        self.told(work)

    def told(self, work: Work) -> None:
        """Tell the version of every record that was written."""
        versions = {
            f"{change.record.machine} {change.record.entity}": change.record.version
            for change in work.changes.values()
        }
        tell(run=self._journal.run_id, committed=versions)


def content(number: int) -> str:
    """Return what a file holds: from a few bytes to several pages."""
    return f"line of file {number}\n" * (1 + number * 97 % 700)


def group(number: int) -> list[dict[str, Any]]:
    """Return the tasks of one group; it begins when the one before has ended."""
    before = [f"again-{number - 1}"] if number else []
    path = f"out/{number % 3}/{number}.txt"
    written = {"path": path, "content": content(number)}
    tasks: list[dict[str, Any]] = []
    if number % 4 == 3:
        scribble = f"scribble-{number}"
        tasks = [{"id": scribble, "uses": "action:scribble", "needs": before, "with": written}]
        before = [scribble]
    marks = [f"mark-{number}-{place}" for place in range(3)]
    return [
        *tasks,
        {"id": f"write-{number}", "uses": "action:save", "needs": before, "with": written},
        {
            "id": f"read-{number}",
            "uses": "action:fetch",
            "needs": [f"write-{number}"],
            "with": {"path": path},
        },
        *(
            {
                "id": mark,
                "uses": "action:mark",
                "needs": [f"read-{number}"],
                "with": {"line": mark},
            }
            for mark in marks
        ),
        {
            "id": f"again-{number}",
            "uses": "action:mark",
            "needs": marks,
            "loop": {"maxIterations": 2, "while": "${{ vars.loopIndex < 2 }}", "initial": None},
            "with": {"line": f"again-{number}-${{{{ vars.loopIndex }}}}"},
        },
    ]


def document(groups: int) -> dict[str, Any]:
    """Return the workflow."""
    return {
        "apiVersion": "agentctl.dev/v1",
        "kind": "Workflow",
        "metadata": {"name": "power"},
        "spec": {
            "runtime": {"maxConcurrency": 3},
            "policy": {"approval": "never", "writableRoots": ["out"]},
            "actions": {"save": {"kind": "builtin.write"}, "fetch": {"kind": "builtin.read"}},
            "tasks": [task for number in range(groups) for task in group(number)],
        },
    }


def main() -> None:
    """Run the workflow."""
    folder, groups = Path(sys.argv[1]), int(sys.argv[2])

    def watch(store: SqliteStore) -> SqliteStore:
        return cast("SqliteStore", TellingStore(store))

    workspace = folder / WORKSPACE
    with Engine(folder / DATABASE, workspace=workspace, wrap_store=watch) as engine:

        @engine.action("mark", idempotency="keyed")
        async def mark(line: str, idempotency_key: str) -> dict[str, str]:
            tell(dispatched=idempotency_key)
            return {"line": line}

        @engine.action("scribble", idempotency="idempotent", runs_in="loop")
        def scribble(path: str, content: str) -> None:
            (workspace / path).write_text(content, encoding="utf-8")

        outcome = engine.start_sync(engine.load(document(groups)))
    assert outcome.exit_code == 0, outcome


if __name__ == "__main__":
    main()
