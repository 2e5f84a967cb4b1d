"""Looking after a database: what it is, whether it is sound, and a copy of it.

Above: `agentctl db`. Below: the store. It changes nothing in the database itself.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING

from attr import frozen

from agentctl.errors import ArtifactDamaged, StoreCorrupt, UsageError
from agentctl.folders import sync_folder
from agentctl.store.artifacts import copy_blob
from agentctl.store.blobs import Blobs
from agentctl.store.ingest import artifacts_beside
from agentctl.store.migrate import NEWEST, check_recorded, schema_version
from agentctl.store.verify import verify_all
from agentctl.value import Value

if TYPE_CHECKING:
    from agentctl.jsonvalue import JsonObject, JsonValue
    from agentctl.store.sqlite import SqliteStore

_PROBLEMS_MAX = 100


def info(store: SqliteStore) -> JsonObject:
    """Return where a database is, how large, and how it is set up; `runs` counts by state."""
    with store.database.reading() as connection:
        counted = connection.execute("SELECT state, count(*) FROM run GROUP BY state")
        runs: dict[str, JsonValue] = dict(sorted(map(tuple, counted)))
        schema = schema_version(connection)
        mode = connection.execute("PRAGMA journal_mode").fetchone()[0]
        level = connection.execute("PRAGMA synchronous").fetchone()[0]
    return {
        "path": str(store.path),
        "sizeBytes": store.path.stat().st_size,
        "schemaVersion": schema,
        "newestSchemaVersion": NEWEST,
        "journalMode": mode,
        "synchronous": ("off", "normal", "full", "extra")[level],
        "runs": runs,
    }


def check(store: SqliteStore) -> list[str]:
    """Return what is wrong with a database: pages, references, migrations, journals."""
    with store.database.reading() as connection:
        rows = connection.execute(f"PRAGMA integrity_check({_PROBLEMS_MAX})").fetchall()
        broken = connection.execute("PRAGMA foreign_key_check").fetchmany(_PROBLEMS_MAX)
    found = [row[0] for row in rows if row[0] != "ok"]
    found += [f"row {row[1]} of {row[0]} refers to nothing in {row[2]}" for row in broken]
    if found:
        return found
    try:
        check_recorded(store.database)
    except StoreCorrupt as error:
        return [error.message]
    return [f"run {one.run_id}, {one.entity or 'run'}: {one.message}" for one in verify_all(store)]


@frozen(kw_only=True, eq=False, repr=False)
class Backup(Value):
    """What a backup holds; `damaged` says which artifacts could not be copied, and why."""

    size_bytes: int
    artifacts: int
    artifact_bytes: int
    damaged: dict[str, str]


def backup(store: SqliteStore, target: str) -> Backup:
    """Write a consistent, compact copy while others may write.

    The artifacts that the copy refers to lie beside it, in `TARGET.artifacts`. Raises
    UsageError when one of both exists or cannot be written.
    """
    try:
        return _back_up(store, Path(target))
    except FileExistsError:
        raise UsageError(f"{target} exists; a backup never replaces a file") from None
    except OSError as error:
        raise UsageError(f"{target} cannot be written: {error.strerror}") from error


def _back_up(store: SqliteStore, place: Path) -> Backup:
    folder = artifacts_beside(place)
    for one in (place, folder):
        if os.path.lexists(one):
            raise UsageError(f"{one} exists; a backup never replaces a file")
    part = place.with_name(f".{place.name}.part")
    part.unlink(missing_ok=True)
    # Only its owner may read it, like the database itself.
    os.close(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    try:
        with store.database.lock, store.database.explained():
            # It takes a snapshot of its own, and refuses to run inside a transaction.
            store.database.connection.execute("VACUUM INTO ?", (str(part),))
        sync_folder(part)
        sizes, damaged = _copy_artifacts(store.blobs, part, folder)
        # A link, unlike a rename, fails when somebody made the target meanwhile.
        os.link(part, place)
    finally:
        part.unlink(missing_ok=True)
    sync_folder(place.parent)
    return Backup(
        size_bytes=place.stat().st_size,
        artifacts=len(sizes),
        artifact_bytes=sum(sizes),
        damaged=damaged,
    )


def _copy_artifacts(
    blobs: Blobs, database: Path, folder: Path
) -> tuple[list[int], dict[str, str]]:
    """Copy what a finished copy of a database refers to; the folder appears whole.

    Nothing of it can be collected meanwhile, because the original refers to it as well.
    """
    connection = sqlite3.connect(database)
    try:
        rows = connection.execute("SELECT DISTINCT digest FROM artifact ORDER BY digest")
        digests = [row[0].hex() for row in rows]
    finally:
        connection.close()
    sizes: list[int] = []
    damaged: dict[str, str] = {}
    if not digests:
        return sizes, damaged
    part = folder.with_name(f".{folder.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    copy = Blobs(part)
    part.mkdir(mode=0o700)
    try:
        for digest in digests:
            copy.path_of(digest).parent.mkdir(mode=0o700, exist_ok=True)
            try:
                sizes.append(copy_blob(blobs, digest, copy.path_of(digest)))
            except ArtifactDamaged as error:
                damaged[digest] = error.message
        for inner in part.iterdir():
            sync_folder(inner)
        sync_folder(part)
        part.rename(folder)
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return sizes, damaged
