"""One run's way of keeping artifacts: its holds on the folder end with a commit or the run.

Above: the run's journal. Below: the folder of blobs. What was ingested cannot be collected until
the commit that refers to it is stored, or until it is known that there will be none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentctl.engine.records import ArtifactRecord
from agentctl.errors import ArtifactDamaged

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from agentctl.engine.apply import Work
    from agentctl.store.blobs import Blobs


class RunArtifacts:
    """The sink of one run; `held` counts what no commit has settled yet."""

    __slots__ = ("_blobs", "held")

    def __init__(self, blobs: Blobs) -> None:
        self._blobs = blobs
        self.held = 0

    def ingest(self, data: bytes) -> str:
        """Make bytes durable and return their digest. Raises StoreError."""
        self._blobs.hold()
        try:
            digest = self._blobs.put(data)
        except BaseException:
            self._blobs.let_go()
            raise
        self.held += 1
        return digest

    def forgo(self, digest: str) -> None:
        """Give up what was ingested: no commit will refer to it."""
        del digest
        self._let_go(1)

    def settle(self, work: Work) -> None:
        """Let go of what a stored unit of work refers to."""
        stored = sum(
            change.base is None and isinstance(change.record, ArtifactRecord)
            for change in work.changes.values()
        )
        self._let_go(stored)

    def release(self) -> None:
        """Let go of everything."""
        self._let_go(self.held)

    def _let_go(self, count: int) -> None:
        count = min(count, self.held)
        if count:
            self.held -= count
            self._blobs.let_go(count)


def artifacts_beside(database: Path) -> Path:
    """Return the folder of a database's artifacts."""
    return database.with_name(database.name + ".artifacts")


def refuse_damaged(blobs: Blobs, run_id: str, records: Iterable[ArtifactRecord]) -> None:
    """Read what some records refer to. Raises ArtifactDamaged with every bad digest."""
    found = {one.digest: blobs.problem(one.digest) for one in records}
    bad = {digest: problem for digest, problem in found.items() if problem}
    if bad:
        words = "; ".join(f"{digest} is {problem}" for digest, problem in bad.items())
        error = ArtifactDamaged(
            f"run {run_id} refers to artifacts that cannot be used: {words}",
            help="put the bytes back from a backup; `agentctl artifacts verify` reads them all",
            run_id=run_id,
        )
        error.digests = tuple(bad)
        raise error
