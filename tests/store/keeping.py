"""A process that keeps or collects artifacts and kills itself at one exact step.

    python keeping.py FOLDER ingest|collect STEP

A step is a call of the operating system that changes the folder of artifacts or brings it to
the disk, or a commit; the process dies before the STEP-th one. It prints how many there were.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentctl.engine.apply import Work
from agentctl.engine.records import ArtifactRecord
from agentctl.store import open_store
from agentctl.store.collect import collect
from agentctl.testing import EPOCH, ManualClock
from tests.store.harness import admitted, new_run, started

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentctl.store.journal import RunJournal
    from agentctl.store.sqlite import SqliteStore

DATA = b"what the run keeps\n" * 1000
CALLS = ("mkdir", "open", "fsync", "replace", "unlink")


class Steps:
    """Counts steps, and dies before the one that was asked for."""

    def __init__(self, fatal: int) -> None:
        self.fatal = fatal
        self.count = 0

    def arm(self) -> None:
        """Count the system calls from now on."""
        for name in CALLS:
            setattr(os, name, self.counting(getattr(os, name)))

    def counting(self, call: Callable[..., Any]) -> Callable[..., Any]:
        """Return a call that is a step."""

        def counted(*given: Any, **named: Any) -> Any:
            self.step()
            return call(*given, **named)

        return counted

    def step(self) -> None:
        """Count one step."""
        self.count += 1
        if self.count == self.fatal:
            os.kill(os.getpid(), signal.SIGKILL)


def reference(digest: str, number: int = 1) -> ArtifactRecord:
    """Return a new reference to some bytes."""
    return ArtifactRecord(
        name=f"one/1.1#{number}",
        number=number,
        task_id="one",
        digest=digest,
        size_bytes=len(DATA),
        logical_path=f"out/{number}.txt",
        created_at=EPOCH,
    )


def publish(journal: RunJournal, digest: str, number: int = 1) -> None:
    """Commit a reference to bytes that were ingested."""
    work = Work()
    work.move_on(work.add(reference(digest, number)), ("sync", "publish"), EPOCH)
    journal.commit(work)


def ingest(store: SqliteStore, steps: Steps) -> None:
    """Keep bytes and commit a reference, as a run does."""
    journal, _ = started(store)
    journal.commit(admitted(new_run().tasks[0])[0])
    steps.arm()
    digest = journal.artifacts.ingest(DATA)
    steps.step()
    publish(journal, digest)
    steps.step()
    journal.release()


def main() -> None:
    """Do what was asked, as far as it goes."""
    folder, command, fatal = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    steps = Steps(fatal)
    store = open_store(folder / "state.db", clock=ManualClock(), durability="normal")
    if command == "ingest":
        ingest(store, steps)
    else:
        steps.arm()
        collect(store)
    sys.stdout.write(str(steps.count))


if __name__ == "__main__":
    main()
