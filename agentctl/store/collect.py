"""Removing artifacts that nothing refers to, and what interrupted ingestions left.

Above: `agentctl artifacts gc`. Below: the folder of blobs and the references. A blob is removed
under the exclusive lock of the folder, after asking the database once more: a run that ingested
it and has not committed yet holds the shared lock, and a run that has is found in the database.
A collection may die between any two steps: each removal is one unlink, and the next collection
goes on with what is left.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from attr import frozen

from agentctl.store.statements import SQL
from agentctl.value import Value

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agentctl.store.sqlite import SqliteStore

# Runs that want to ingest wait for one batch at most.
BATCH_BLOBS = 256


@frozen(kw_only=True, eq=False, repr=False)
class Collected(Value):
    """What a collection removed, or would: digests and sizes, and the leftover files."""

    blobs: tuple[tuple[str, int], ...]
    leftovers: int
    leftover_bytes: int
    kept: int

    @property
    def freed_bytes(self) -> int:
        """How many bytes that is."""
        return sum(size for _, size in self.blobs) + self.leftover_bytes


def collect(store: SqliteStore, *, plan: bool = False) -> Collected:
    """Remove what nothing refers to; with `plan` only say what that would be.

    Raises StoreBusy when runs keep artifacts all the time, and another StoreError.
    """
    folder = store.blobs
    if not folder.root.is_dir():
        return Collected(blobs=(), leftovers=0, leftover_bytes=0, kept=0)
    with folder.exclusive():
        leftovers = folder.leftovers()
        leftover_bytes = sum(map(_size, leftovers))
        every = list(folder.digests())
        if not plan:
            folder.sweep()
    removed = []
    for start in range(0, len(every), BATCH_BLOBS):
        removed += _collect_batch(store, every[start : start + BATCH_BLOBS], plan=plan)
    return Collected(
        blobs=tuple(removed),
        leftovers=len(leftovers),
        leftover_bytes=leftover_bytes,
        kept=len(every) - len(removed),
    )


def _collect_batch(
    store: SqliteStore, digests: Iterable[str], *, plan: bool
) -> list[tuple[str, int]]:
    removed = []
    with store.blobs.exclusive():
        with store.database.reading() as connection:
            unused = [
                digest
                for digest in digests
                if not connection.execute(
                    SQL["artifact_is_used"], (bytes.fromhex(digest),)
                ).fetchone()[0]
            ]
        for digest in unused:
            size_bytes = store.blobs.size(digest)
            if size_bytes is None:
                continue
            if not plan:
                store.blobs.remove(digest)
            removed.append((digest, size_bytes))
    return removed


def _size(path: os.PathLike[str]) -> int:
    try:
        return os.stat(path, follow_symlinks=False).st_size
    except OSError:
        return 0
