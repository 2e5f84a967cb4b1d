"""Verification finds any change of what the control plane keeps."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agentctl.store.verify_entities import verify_entities
from tests.control.mutations import written
from tests.control.working import EVERYTHING, scripted
from tests.engine.harness import Bench
from tests.store.harness import tampering

if TYPE_CHECKING:
    from pathlib import Path

CHANGES = {
    "kind": "'case'",
    "id": "'other'",
    "owner": "'other'",
    "revision": "7",
    "machine": "NULL",
    "source": "NULL",
    "event": "NULL",
    "state": "'archived'",
    "body": "'{}'",
    "created_at": "created_at + 1",
    "updated_at": "updated_at + 1",
    "actor": "'eve'",
    "run_id": "'other'",
    "operation": "'other'",
    "digest": "zeroblob(32)",
}
SECOND = "WHERE kind = 'document' AND revision = 2"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a database in which a document has two revisions."""
    bench = Bench(tmp_path)
    bench.run(scripted(written("one", None), written("two", "brief@1"), **EVERYTHING))
    assert verify_entities(bench.engine.store) == []
    bench.close()
    return tmp_path


def found(folder: Path, statement: str) -> list[str]:
    """Tamper, and return what verification says."""
    with tampering(folder / "state.db") as connection:
        assert connection.execute(statement).rowcount == 1
    bench = Bench(folder)
    messages = [one.message for one in verify_entities(bench.engine.store)]
    bench.close()
    return messages


@pytest.mark.parametrize("column", CHANGES)
def test_a_changed_column_of_a_revision_is_found(folder: Path, column: str) -> None:
    statement = f"UPDATE entity_revision SET {column} = {CHANGES[column]} {SECOND}"
    (message,) = found(folder, statement)
    assert "digest" in message


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        (f"DELETE FROM entity_revision {SECOND}", "it is not what its newest revision says"),
        ("UPDATE entity SET body = '{}' WHERE kind = 'document'", "newest revision"),
        ("UPDATE entity SET revision = 1 WHERE kind = 'document'", "newest revision"),
        ("DELETE FROM entity WHERE kind = 'document'", "there is no such entity"),
        (
            "INSERT INTO entity VALUES ('case', 'k', '', 'open', 1, '{}', 1, 1)",
            "it has no revision",
        ),
    ],
)
def test_an_entity_that_is_not_its_newest_revision_is_found(
    folder: Path, statement: str, message: str
) -> None:
    (said,) = found(folder, statement)
    assert message in said
