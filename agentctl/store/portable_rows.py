"""The rows of one run as JSON objects, and JSON objects as rows.

Above: `portable`. Below: SQLite. A row's `key` becomes its `place` in the run, blobs become hex,
and JSON text becomes JSON. Leases, requests to cancel and start keys belong to a database, not to
a run, so they stay behind.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Literal, cast

from attr import frozen

from agentctl.errors import PortableDamaged, StoreCorrupt, UnknownRun
from agentctl.jsonvalue import canonical
from agentctl.store.rows import first_key, packed, unpacked
from agentctl.store.statements import SQL
from agentctl.value import Value

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator

    from agentctl.jsonvalue import JsonObject, JsonValue

# Their rows are found by key.
KEYED = ("task", "effect", "artifact", "transition")
# Their rows are found by the run's number.
PLAIN = (
    "iteration",
    "approval",
    "reconciliation",
    "compensation",
    "late_report",
    "memory",
    "stream_event",
)
JSON_COLUMNS = {
    "run": {"inputs", "vars", "output", "error", "raised_budgets"},
    "task": {"output", "error", "snapshot"},
    "effect": {"input", "result", "error"},
    "reconciliation": {"evidence", "result", "spent"},
    "late_report": {"result", "error"},
    "memory": {"value"},
    "stream_event": {"payload"},
    "transition": {"detail"},
}
_PLACES = 1 << 32


Form = Literal["json", "hex", "plain"]


@frozen(kw_only=True, eq=False, repr=False)
class Column(Value):
    """How a column is written in JSON, and whether it always has a value."""

    form: Form
    required: bool
    is_packed: bool = False


class Rows:
    """Reads the rows of one run in an open transaction. Raises UnknownRun."""

    def __init__(self, connection: sqlite3.Connection, run_id: str) -> None:
        self._connection = connection
        found = connection.execute("SELECT * FROM run WHERE id = ?", (run_id,)).fetchone()
        if found is None:
            raise UnknownRun(f"no run {run_id}", help="see `agentctl runs`", run_id=run_id)
        self._run: sqlite3.Row = found

    def documents(self) -> Iterator[JsonObject]:
        """Yield the plan and the workflow text."""
        for digest in (self._run["plan_digest"], self._run["source_digest"]):
            row = self._connection.execute(
                "SELECT kind, body FROM document WHERE digest = ?", (digest,)
            ).fetchone()
            if row is not None:
                yield {"digest": digest, "kind": row["kind"], "text": _text(row["body"])}

    def run(self) -> JsonObject:
        """Return the run's own row."""
        return _record(self._connection, "run", self._run)

    def others(self) -> Iterator[tuple[str, JsonObject]]:
        """Yield every other row with its table."""
        number = self._run["number"]
        for table in KEYED:
            keys = (first_key(number), first_key(number + 1))
            sql = f"SELECT * FROM {table} WHERE key >= ? AND key < ? ORDER BY key"  # noqa: S608  (a constant)
            for row in self._connection.execute(sql, keys):
                place = row["key"] - first_key(number)
                yield table, {"place": place, **_record(self._connection, table, row)}
        for table in PLAIN:
            sql = f"SELECT * FROM {table} WHERE run = ?"  # noqa: S608  (a constant)
            for row in self._connection.execute(sql, (number,)):
                yield table, _record(self._connection, table, row)


def insert_document(connection: sqlite3.Connection, record: JsonObject) -> None:
    """Store a document. Raises PortableDamaged."""
    digest, kind, text = (record.get(name) for name in ("digest", "kind", "text"))
    if not isinstance(text, str):
        raise PortableDamaged("a document has no text")
    body = zlib.compress(text.encode("utf-8", "surrogatepass"))
    connection.execute(SQL["insert_document"], (digest, kind, body))


def insert_run(connection: sqlite3.Connection, record: JsonObject) -> int:
    """Store a run's own row; return its number here. Raises PortableDamaged."""
    number = _insert(connection, "run", record, {})
    assert number is not None
    return number


def insert_row(
    connection: sqlite3.Connection, number: int, table: str, record: JsonObject
) -> None:
    """Store one row of a run. Raises PortableDamaged."""
    if table in PLAIN:
        _insert(connection, table, record, {"run": number})
        return
    place = record.get("place")
    if table not in KEYED or type(place) is not int or not 0 <= place < _PLACES:
        raise PortableDamaged(f"a row of {table!r} has no place in a run")
    rest = {name: value for name, value in record.items() if name != "place"}
    _insert(connection, table, rest, {"key": first_key(number) + place})


def _insert(
    connection: sqlite3.Connection, table: str, record: JsonObject, own: dict[str, int]
) -> int | None:
    columns = _columns(connection, table)
    if set(record) != set(columns):
        odd = ", ".join(sorted(set(record) ^ set(columns)))
        raise PortableDamaged(f"a row of {table} has other columns than it should: {odd}")
    values = [_stored(table, name, column, record[name]) for name, column in columns.items()]
    names = ", ".join([*own, *columns])
    marks = ", ".join("?" * (len(own) + len(columns)))
    sql = f"INSERT INTO {table} ({names}) VALUES ({marks})"  # noqa: S608  (the schema's names)
    return connection.execute(sql, [*own.values(), *values]).lastrowid


def _columns(connection: sqlite3.Connection, table: str) -> dict[str, Column]:
    """Return the columns that belong to the run itself."""
    rows = connection.execute(f"PRAGMA table_info({table})")
    own = {"run": {"number"}}.get(table, {"key", "run"} if table in KEYED else {"run"})
    json = JSON_COLUMNS.get(table, set())
    found = {}
    for row in rows:
        name = row["name"]
        if name not in own:
            form: Form = "json" if name in json else "hex" if row["type"] == "BLOB" else "plain"
            found[name] = Column(
                form=form, required=bool(row["notnull"]), is_packed=row["type"] == "ANY"
            )
    return found


def _record(connection: sqlite3.Connection, table: str, row: sqlite3.Row) -> JsonObject:
    columns = _columns(connection, table)
    return {name: _shown(column, row[name]) for name, column in columns.items()}


def _shown(column: Column, value: object) -> JsonValue:
    if value is None or column.form == "plain":
        return cast("JsonValue", value)
    return (
        cast("bytes", value).hex()
        if column.form == "hex"
        else unpacked(cast("str | bytes", value))
    )


def _stored(table: str, name: str, column: Column, value: JsonValue) -> object:
    try:
        if column.form == "json" and (column.required or value is not None):
            return packed(value) if column.is_packed else canonical(value)
        if column.form == "hex" and value is not None:
            return bytes.fromhex(cast("str", value))
    except (TypeError, ValueError) as error:
        raise PortableDamaged(f"{name} of a row of {table} cannot be read: {error}") from error
    return value


def _text(body: bytes) -> str:
    try:
        return zlib.decompress(body).decode("utf-8", "surrogatepass")
    except (zlib.error, UnicodeDecodeError) as error:
        raise StoreCorrupt(f"a stored document is damaged: {error}") from error
