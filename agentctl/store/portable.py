"""One run as one file of JSON lines, and back.

Above: `agentctl export`, `import` and `inspect --file`. Below: rows and the folder of blobs.

The first line says what the file is, the last one how many lines there are and their SHA-256.
Between them stands one row a line, as it is stored, with JSON where the database has JSON text.
Lines, and not an archive, because every tool for text can read, search and compare them. A file
is read into a database of its own, whose machines, references and digest chain then judge it.
"""

from __future__ import annotations

import base64
import contextlib
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, cast

from agentctl.clock import iso
from agentctl.errors import ArtifactDamaged, PortableDamaged, PortableRefused, UsageError
from agentctl.folders import sync_folder
from agentctl.machines.legality import refusal
from agentctl.store import open_store
from agentctl.store.migrate import NEWEST
from agentctl.store.portable_file import FORMAT, Reader, Writer
from agentctl.store.portable_rows import Rows, insert_document, insert_row, insert_run
from agentctl.store.verify import verify_run
from agentctl.version import VERSION

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentctl.store.portable_file import Portable
    from agentctl.store.sqlite import SqliteStore

_PIECE_BYTES = 3 << 18


def export_run(store: SqliteStore, run_id: str, target: str, *, artifacts: bool) -> Portable:
    """Write a run to a new file, which appears whole or not at all.

    Raises UnknownRun, UsageError when the file exists or cannot be written, and ArtifactDamaged
    when bytes are to go along and are not there.
    """
    place = Path(target)
    part = place.with_name(f".{place.name}.{os.getpid()}.part")
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            with os.fdopen(os.open(part, flags, 0o600), "wb") as file:
                writer = Writer(file.write)
                _write(store, run_id, writer, artifacts=artifacts)
                file.flush()
                os.fsync(file.fileno())
            # A link, unlike a rename, fails when somebody made the target meanwhile.
            os.link(part, place)
        finally:
            part.unlink(missing_ok=True)
        sync_folder(place.parent)
    except FileExistsError:
        raise UsageError(f"{target} exists; an export never replaces a file") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UsageError(f"{target} cannot be written: {reason}") from error
    return writer.tally.portable(run_id, with_artifacts=artifacts)


def import_run(store: SqliteStore, source: str) -> Portable:
    """Take an exported run in, whole or not at all.

    Raises PortableRefused for what is no export, a run that is here already or not over, and
    bytes that are neither in the file nor here; PortableDamaged when it is not what was
    exported; and StoreError.
    """
    with opened(source) as (copy, portable):
        history = copy.load_run(portable.run_id)
        refused = refusal("import", history.run)
        if refused is not None:
            raise PortableRefused(refused[0], help=refused[1], run_id=portable.run_id)
        digests = sorted({one.digest for one in history.artifacts})
        store.blobs.hold()
        try:
            for digest in digests:
                _take_blob(store, copy, digest)
            _take_rows(store, copy, portable.run_id)
        finally:
            store.blobs.let_go()
    return portable


@contextlib.contextmanager
def opened(source: str) -> Iterator[tuple[SqliteStore, Portable]]:
    """Open an exported run as a database of its own, after checking all of it.

    Raises PortableRefused and PortableDamaged.
    """
    with tempfile.TemporaryDirectory(prefix="agentctl-") as folder:
        copy = open_store(Path(folder) / "run.db", durability="normal")
        try:
            portable = Reader(source, copy).read()
            _judge(copy, portable)
            yield copy, portable
        finally:
            copy.close()


def _judge(copy: SqliteStore, portable: Portable) -> None:
    found = verify_run(copy, portable.run_id, with_bytes=portable.with_artifacts)
    if found:
        first = found[0]
        place = first.entity or "run"
        raise PortableDamaged(
            f"the export of run {portable.run_id} does not fit its journal: {place}: "
            f"{first.message}",
            help="export it again from the database that has it",
            run_id=portable.run_id,
        )


def _take_blob(store: SqliteStore, copy: SqliteStore, digest: str) -> None:
    if copy.blobs.problem(digest) is None:
        with copy.blobs.open(digest) as file:
            store.blobs.put(file.read())
    elif store.blobs.problem(digest) is not None:
        raise PortableRefused(
            f"the run refers to the artifact {digest}, which is neither in the file nor here",
            help="export it again with --artifacts",
        )


def _take_rows(store: SqliteStore, copy: SqliteStore, run_id: str) -> None:
    with copy.database.reading() as source, store.database.writing() as connection:
        rows = Rows(source, run_id)
        if connection.execute("SELECT 1 FROM run WHERE id = ?", (run_id,)).fetchone():
            raise PortableRefused(
                f"run {run_id} is here already",
                help=f"`agentctl inspect {run_id}` shows it",
                run_id=run_id,
            )
        for record in rows.documents():
            insert_document(connection, record)
        number = insert_run(connection, rows.run())
        for table, record in rows.others():
            insert_row(connection, number, table, record)


def _write(store: SqliteStore, run_id: str, writer: Writer, *, artifacts: bool) -> None:
    with store.database.reading() as connection:
        rows = Rows(connection, run_id)
        writer.line(
            {
                "format": FORMAT,
                "runId": run_id,
                "schemaVersion": NEWEST,
                "agentctl": VERSION,
                "exportedAt": iso(store.clock.now()),
                "artifacts": artifacts,
            }
        )
        for document in rows.documents():
            writer.row("document", document)
        writer.row("run", rows.run())
        digests = set()
        for table, record in rows.others():
            writer.row(table, record)
            if table == "artifact":
                digests.add(cast("str", record["digest"]))
    for digest in sorted(digests) if artifacts else ():
        _write_blob(store, digest, writer)
    writer.end()


def _write_blob(store: SqliteStore, digest: str, writer: Writer) -> None:
    problem = store.blobs.problem(digest)
    if problem is not None:
        raise ArtifactDamaged(
            f"the artifact {digest} is {problem}", help="leave --artifacts out, or put it back"
        )
    writer.tally.artifacts += 1
    with store.blobs.open(digest) as file:
        more = True
        while more:
            piece = file.read(_PIECE_BYTES)
            more = len(piece) == _PIECE_BYTES
            text = base64.b64encode(piece).decode("ascii")
            writer.line({"record": "bytes", "digest": digest, "more": more, "base64": text})
