"""Bring a database to this program's schema, one transaction per migration.

Above: the store. Below: the files of `migrations/`, named `NNNN_name.sql`. Each is recorded
with its checksum; a recorded one that changed, and a schema from a newer agentctl, are refused.
The edges of the machines are seeded from their tables.
"""

from __future__ import annotations

import os
from hashlib import sha256
from typing import TYPE_CHECKING

from attr import frozen

from agentctl.errors import SchemaTooNew, StoreCorrupt
from agentctl.machines.compiled import TABLES
from agentctl.store.database import APPLICATION_ID
from agentctl.store.statements import read_text
from agentctl.value import Value

if TYPE_CHECKING:
    import sqlite3

    from agentctl.clock import Instant
    from agentctl.store.database import Database

NEWEST = 1
_FOLDER = os.path.join(os.path.dirname(__file__), "migrations")


@frozen(eq=False, repr=False)
class Migration(Value):
    """One step of the schema."""

    version: int
    name: str
    text: str

    @property
    def checksum(self) -> str:
        """SHA-256 of the text."""
        return sha256(self.text.encode()).hexdigest()


def migrations() -> list[Migration]:
    """Return every step in order."""
    found = []
    for file in os.listdir(_FOLDER):
        version, _, name = file.removesuffix(".sql").partition("_")
        if file.endswith(".sql"):
            text = read_text(os.path.join(_FOLDER, file))
            found.append(Migration(int(version), name, text))
    return sorted(found, key=lambda one: one.version)


def schema_version(connection: sqlite3.Connection) -> int:
    """Return the newest migration that was applied, 0 for an empty file."""
    version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    return version


def migrate(database: Database, now: Instant) -> list[str]:
    """Apply what is missing; return the names of the steps applied."""
    with database.reading() as connection:
        present = schema_version(connection)
    if present > NEWEST:
        raise SchemaTooNew(
            f"{database.path} has schema {present}; this agentctl knows up to {NEWEST}",
            help="upgrade agentctl, or open a backup that it wrote",
        )
    if present == NEWEST:
        return []
    return [_apply(database, one, now) for one in migrations() if one.version > present]


def check_recorded(database: Database) -> None:
    """Raise StoreCorrupt when a recorded migration is not the one this program has."""
    known = {one.version: one for one in migrations()}
    with database.reading() as connection:
        rows = connection.execute("SELECT version, name, checksum FROM migration").fetchall()
    for row in rows:
        mine = known.get(row["version"])
        if mine is None or mine.checksum != row["checksum"]:
            raise StoreCorrupt(
                f"migration {row['version']} ({row['name']}) of {database.path} is not this "
                "program's",
                help="open it with the agentctl that wrote it",
            )


def _apply(database: Database, step: Migration, now: Instant) -> str:
    with database.writing() as connection:
        # Another process may have been quicker.
        if schema_version(connection) >= step.version:
            return step.name
        for statement in split_statements(step.text):
            connection.execute(statement)
        connection.executemany(
            "INSERT INTO machine_edge VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
            [
                (table.name, source, event, target)
                for table in TABLES.values()
                for source, event, target in table.edges
            ],
        )
        connection.execute(
            "INSERT INTO migration VALUES (?, ?, ?, ?)",
            (step.version, step.name, step.checksum, now),
        )
        connection.execute(f"PRAGMA user_version={step.version}")
        connection.execute(f"PRAGMA application_id={APPLICATION_ID}")
    return step.name


def split_statements(text: str) -> list[str]:
    """Return the statements of a migration; they end with a semicolon at a line's end."""
    lines = [f"{line}\n" for line in text.splitlines() if not line.lstrip().startswith("--")]
    return [part.strip() for part in "".join(lines).split(";\n") if part.strip()]
