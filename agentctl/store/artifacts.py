"""Looking at the artifacts of a database: who refers to what, whether it is there, copies of it.

Above: `agentctl artifacts` and backups. Below: rows and the folder of blobs. It removes nothing;
that is `collect`.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from attr import frozen

from agentctl.errors import ArtifactDamaged, UnknownArtifact, UsageError
from agentctl.folders import sync_folder
from agentctl.machines.names import ArtifactStates
from agentctl.store.rows import artifact_from
from agentctl.store.statements import SQL
from agentctl.suggest import did_you_mean
from agentctl.value import Value

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agentctl.engine.records import ArtifactRecord
    from agentctl.machines.names import ArtifactState
    from agentctl.store.blobs import Blobs
    from agentctl.store.sqlite import SqliteStore

_CHUNK_BYTES = 1 << 20
_LISTED_MAX = 8


@frozen(kw_only=True, eq=False, repr=False)
class Reference(Value):
    """One run's reference to some bytes."""

    run_id: str
    artifact: ArtifactRecord


@frozen(kw_only=True, eq=False, repr=False)
class Blob(Value):
    """Bytes by digest: how many refer to them, and how many bytes the folder holds, if any."""

    digest: str
    references: int
    recorded_bytes: int | None
    stored_bytes: int | None

    @property
    def state(self) -> ArtifactState:
        """Where the bytes stand: published by a commit, or only on the disk."""
        return ArtifactStates.published if self.references else ArtifactStates.synced

    @property
    def size_bytes(self) -> int:
        """How many bytes there should be."""
        recorded, stored = self.recorded_bytes, self.stored_bytes
        return (stored or 0) if recorded is None else recorded


def references(store: SqliteStore, run_id: str | None = None) -> list[Reference]:
    """Return every reference, oldest first, or those of one run. Raises UnknownRun."""
    if run_id is not None:
        found = store.load_run(run_id).artifacts
        return [Reference(run_id=run_id, artifact=one) for one in found]
    with store.database.reading() as connection:
        rows = connection.execute(SQL["artifact_references"]).fetchall()
    return [Reference(run_id=row["run_id"], artifact=artifact_from(row)) for row in rows]


def blobs(store: SqliteStore) -> dict[str, Blob]:
    """Return all bytes that are referred to or stored, by digest, in order."""
    with store.database.reading() as connection:
        rows = connection.execute(SQL["artifact_blobs"]).fetchall()
    used = {row["digest"].hex(): (row["uses"], row["size_bytes"]) for row in rows}
    found = {}
    for digest in sorted({*used, *store.blobs.digests()}):
        count, size_bytes = used.get(digest, (0, None))
        found[digest] = Blob(
            digest=digest,
            references=count,
            recorded_bytes=size_bytes,
            stored_bytes=store.blobs.size(digest),
        )
    return found


def resolve(known: Iterable[str], wanted: str) -> str:
    """Return the one digest that begins as `wanted` does. Raises UnknownArtifact, UsageError."""
    digests = list(known)
    start = wanted.removeprefix("sha256:").lower()
    matches = [one for one in digests if one.startswith(start)] if start else []
    if len(matches) == 1:
        return matches[0]
    if matches:
        listed = ", ".join(one[:16] for one in matches[:_LISTED_MAX])
        more = ", …" if len(matches) > _LISTED_MAX else ""
        raise UsageError(
            f"more than one artifact begins with {wanted!r}: {listed}{more}",
            help="give more digits",
        )
    is_digest = re.fullmatch(r"[0-9a-f]{1,64}", start)
    problem = "no artifact has the digest" if is_digest else "this is no SHA-256 in hex:"
    raise UnknownArtifact(
        f"{problem} {wanted!r}",
        help=did_you_mean(start, digests) or "see `agentctl artifacts list`",
    )


def damaged(store: SqliteStore, digests: Iterable[str]) -> dict[str, str]:
    """Read some blobs; return what is wrong, by digest."""
    found = {digest: store.blobs.problem(digest) for digest in digests}
    return {digest: problem for digest, problem in found.items() if problem}


def export(store: SqliteStore, digest: str, target: str, *, force: bool = False) -> int:
    """Copy an artifact's exact bytes to a file, making its folder; return how many they are.

    The file appears whole or not at all. Raises UsageError when it exists and `force` is false
    or it cannot be written, and ArtifactDamaged.
    """
    place = Path(target)
    try:
        if not force and os.path.lexists(place):
            raise _taken(target)
        place.parent.mkdir(parents=True, exist_ok=True)
        return _export(store.blobs, digest, place, force=force)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UsageError(f"{target} cannot be written: {reason}") from error


def _export(blobs: Blobs, digest: str, place: Path, *, force: bool) -> int:
    part = place.with_name(f".{place.name}.{os.getpid()}.part")
    try:
        size_bytes = copy_blob(blobs, digest, part, mode=0o666)
        if force:
            os.replace(part, place)
        else:
            # A link, unlike a rename, fails when somebody made the target meanwhile.
            try:
                os.link(part, place)
            except FileExistsError:
                raise _taken(str(place)) from None
    finally:
        part.unlink(missing_ok=True)
    sync_folder(place.parent)
    return size_bytes


def _taken(target: str) -> UsageError:
    return UsageError(f"{target} exists", help="--force replaces it")


def copy_blob(blobs: Blobs, digest: str, target: Path, *, mode: int = 0o600) -> int:
    """Write a blob to a new file, durably, reading and checking it once.

    Raises ArtifactDamaged, and OSError for the target.
    """
    try:
        source = blobs.open(digest)
    except OSError as error:
        raise _damaged(digest, blobs.problem(digest) or str(error)) from error
    with source:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        handle = os.open(target, flags, mode)
        found, size_bytes = hashlib.sha256(), 0
        try:
            with os.fdopen(handle, "wb") as file:
                while chunk := source.read(_CHUNK_BYTES):
                    found.update(chunk)
                    size_bytes += file.write(chunk)
                file.flush()
                os.fsync(file.fileno())
            if found.hexdigest() != digest:
                raise _damaged(digest, "damaged")
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(target)
            raise
    return size_bytes


def _damaged(digest: str, problem: str) -> ArtifactDamaged:
    return ArtifactDamaged(
        f"the artifact {digest} is {problem}", help="put its bytes back from a backup"
    )
