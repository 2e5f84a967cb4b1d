"""The schema, its migrations, and the statements that stand on it."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentctl.errors import SchemaTooNew, StoreCorrupt
from agentctl.machines.compiled import TABLES
from agentctl.store import open_store
from agentctl.store.migrate import NEWEST, check_recorded, migrations, split_statements
from agentctl.store.statements import SQL, parse_statements, read_text
from tests.store.harness import tampering

if TYPE_CHECKING:
    from pathlib import Path

    from agentctl.store.sqlite import SqliteStore


def shape(connection: sqlite3.Connection) -> set[tuple[str, ...]]:
    """Return every table and index with its text, without the layout of lines."""
    rows = connection.execute("SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL")
    return {(kind, name, " ".join(sql.split())) for kind, name, sql in rows}


def test_the_schema_file_is_what_the_migrations_make(store: SqliteStore) -> None:
    drawn = sqlite3.connect(":memory:")
    drawn.executescript(read_text("schema.sql"))
    with store.database.reading() as connection:
        assert shape(connection) == shape(drawn)
    drawn.close()


def test_migrations_are_numbered_from_one_without_a_gap() -> None:
    assert [one.version for one in migrations()] == list(range(1, NEWEST + 1))


def test_every_edge_of_every_machine_is_seeded(store: SqliteStore) -> None:
    with store.database.reading() as connection:
        seeded = {tuple(row) for row in connection.execute("SELECT * FROM machine_edge")}
    assert seeded == {(name, *edge) for name, table in TABLES.items() for edge in table.edges}


def test_each_migration_is_recorded_with_its_checksum(store: SqliteStore) -> None:
    with store.database.reading() as connection:
        rows = connection.execute("SELECT version, name, checksum, applied_at FROM migration")
        recorded = [tuple(row) for row in rows]
    assert recorded == [
        (one.version, one.name, one.checksum, store.clock.now()) for one in migrations()
    ]
    check_recorded(store.database)


def test_opening_a_database_that_is_up_to_date_applies_nothing(store: SqliteStore) -> None:
    assert store.migrate() == []


def test_a_migration_that_is_not_this_programs_is_refused(store: SqliteStore) -> None:
    with tampering(store.path) as connection:
        connection.execute("UPDATE migration SET checksum = 'other'")
    with pytest.raises(StoreCorrupt, match=r"migration 1 \(initial\)") as caught:
        check_recorded(store.database)
    assert caught.value.help


def test_a_newer_schema_is_refused_with_advice(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    open_store(path).close()
    with tampering(path) as connection:
        connection.execute(f"PRAGMA user_version={NEWEST + 1}")
    with pytest.raises(SchemaTooNew, match=f"schema {NEWEST + 1}") as caught:
        open_store(path)
    assert "upgrade agentctl" in str(caught.value.help)


@pytest.mark.parametrize("name", sorted(SQL))
def test_every_statement_is_one_that_sqlite_accepts(store: SqliteStore, name: str) -> None:
    names = {"run": 1, "after": 0, "host": "", "boot": "", "pid": 1, "started": 1, "since": 1}
    filters = ("states", "workflow", "created_before")
    values = {
        **names,
        "expires_at": 1,
        "beginning": "ab",
        "id": "r",
        **dict.fromkeys(("kind", "owner", "key"), "k"),
        **dict.fromkeys(filters),
        **dict.fromkeys(("unsettled", "decided", "going"), "[]"),
        "limit": 1,
    }
    statement = SQL[name]
    given: object = [None] * statement.count("?") if "?" in statement else values
    with store.database.reading() as connection:
        connection.execute(f"EXPLAIN {statement}", given)  # type: ignore[arg-type]


def test_a_statement_is_found_by_its_name_without_its_comment() -> None:
    text = "a preface\n-- one --\n-- Why.\nSELECT 1\n\n-- two --\nSELECT\n 2\n"
    assert parse_statements(text) == {"one": "SELECT 1", "two": "SELECT\n 2"}


@pytest.mark.parametrize("text", ["-- one --\n-- Why.\n", "-- a --\nX\n-- a --\nY\n"])
def test_a_statement_without_text_or_with_a_name_twice_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="empty or stands twice"):
        parse_statements(text)


@given(
    st.dictionaries(
        st.text("az_", min_size=1, max_size=6),
        st.lists(st.text("AZ -", min_size=1, max_size=6), min_size=1, max_size=3).map(
            lambda words: "\n".join(f"({word})" for word in words)
        ),
        max_size=4,
    )
)
def test_statements_that_are_written_are_read_back(wanted: dict[str, str]) -> None:
    text = "".join(f"-- {name} --\n-- Why.\n{body}\n\n" for name, body in wanted.items())
    assert parse_statements(text) == wanted


def test_a_migration_is_split_at_semicolons_that_end_a_line() -> None:
    text = "-- A word.\nCREATE TABLE a (\n  b TEXT DEFAULT ';x'\n);\n\nDROP TABLE a;\n"
    assert split_statements(text) == [
        "CREATE TABLE a (\n  b TEXT DEFAULT ';x'\n)",
        "DROP TABLE a",
    ]
