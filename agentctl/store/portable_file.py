"""The lines of an exported run: written one after another, and read into an empty database.

Above: `portable`. Below: `portable_rows`. What is read is data of a stranger: every line is
bounded, every row goes through the schema, and nothing of it is executed.
"""

from __future__ import annotations

import base64
import hashlib
import json
from typing import TYPE_CHECKING, cast

from attr import frozen

from agentctl.errors import PortableDamaged, PortableRefused, StoreError
from agentctl.jsonvalue import parse_json
from agentctl.store.migrate import NEWEST
from agentctl.store.portable_rows import insert_document, insert_row, insert_run
from agentctl.value import Value

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable
    from io import BufferedReader

    from agentctl.jsonvalue import JsonObject
    from agentctl.store.sqlite import SqliteStore

FORMAT = "agentctl.dev/run-export/v1"
# One line holds one row or a piece of an artifact; both are far smaller than this.
LINE_BYTES_MAX = 1 << 28


@frozen(kw_only=True, eq=False, repr=False)
class Portable(Value):
    """An exported run: the digest of the whole file, its size and what it holds."""

    run_id: str
    sha256: str
    size_bytes: int
    rows: int
    artifacts: int
    with_artifacts: bool


class Tally:
    """Counts and digests lines."""

    def __init__(self) -> None:
        self._lines = hashlib.sha256()
        self._whole = hashlib.sha256()
        self.lines = 0
        self.rows = 0
        self.artifacts = 0
        self.size_bytes = 0

    def add(self, data: bytes) -> None:
        """Take in a line."""
        self._lines.update(data)
        self.lines += 1
        self.finish(data)

    def finish(self, data: bytes) -> None:
        """Take in the last line, which does not count itself."""
        self._whole.update(data)
        self.size_bytes += len(data)

    def end(self) -> JsonObject:
        """Return what the last line says."""
        return {"record": "end", "lines": self.lines, "sha256": self._lines.hexdigest()}

    def portable(self, run_id: str, *, with_artifacts: bool) -> Portable:
        """Return what was counted."""
        return Portable(
            run_id=run_id,
            sha256=self._whole.hexdigest(),
            size_bytes=self.size_bytes,
            rows=self.rows,
            artifacts=self.artifacts,
            with_artifacts=with_artifacts,
        )


class Writer:
    """Writes lines."""

    def __init__(self, write: Callable[[bytes], object]) -> None:
        self._write = write
        self.tally = Tally()

    def row(self, table: str, record: JsonObject) -> None:
        """Write one row."""
        self.tally.rows += 1
        self.line({"record": table, **record})

    def line(self, body: JsonObject) -> None:
        """Write one line."""
        data = _encoded(body)
        self.tally.add(data)
        self._write(data)

    def end(self) -> None:
        """Write the last line."""
        data = _encoded(self.tally.end())
        self.tally.finish(data)
        self._write(data)


class Reader:
    """Reads a file into an empty database, and checks that it is whole."""

    def __init__(self, source: str, copy: SqliteStore) -> None:
        self._source = source
        self._copy = copy
        self._tally = Tally()
        self._number: int | None = None
        self._pieces: list[bytes] = []

    def read(self) -> Portable:
        """Return what the file holds. Raises PortableRefused and PortableDamaged."""
        try:
            with open(self._source, "rb") as file:
                return self._read(file)
        except OSError as error:
            reason = error.strerror or str(error)
            raise PortableRefused(f"{self._source} cannot be read: {reason}") from error
        except PortableDamaged as error:
            raise self._damaged(error.message) from error
        except StoreError as error:
            raise self._damaged(f"a row cannot be: {error.message}") from error

    def _read(self, file: BufferedReader) -> Portable:
        head = self._head(file)
        with self._copy.database.writing() as connection:
            while (line := self._line(file))["record"] != "end":
                self._take(connection, line)
            if self._pieces or file.read(1):
                raise PortableDamaged("it goes on after its end, or an artifact has none")
        return self._tally.portable(str(head["runId"]), with_artifacts=head["artifacts"] is True)

    def _head(self, file: BufferedReader) -> JsonObject:
        data = file.readline(LINE_BYTES_MAX)
        try:
            head = parse_json(data)
        except ValueError:
            head = None
        if not isinstance(head, dict) or head.get("format") != FORMAT:
            raise PortableRefused(
                f"{self._source} is no exported run", help="`agentctl export RUN FILE` makes one"
            )
        if head.get("schemaVersion") != NEWEST:
            raise PortableRefused(
                f"{self._source} has schema {head.get('schemaVersion')}; this agentctl reads "
                f"{NEWEST}",
                help=f"open it with agentctl {head.get('agentctl')}",
            )
        self._tally.add(data)
        return {"runId": None, "artifacts": None, **head}

    def _line(self, file: BufferedReader) -> JsonObject:
        place = self._tally.lines + 1
        data = file.readline(LINE_BYTES_MAX)
        try:
            line = parse_json(data)
        except ValueError as error:
            what = f"line {place} is no JSON" if data else "its end is missing"
            raise PortableDamaged(what) from error
        if not isinstance(line, dict) or not isinstance(line.get("record"), str):
            raise PortableDamaged(f"line {place} is no record")
        if line["record"] != "end":
            self._tally.add(data)
        elif line == self._tally.end():
            self._tally.finish(data)
        else:
            raise PortableDamaged("its lines do not have the digest that its end says")
        return line

    def _take(self, connection: sqlite3.Connection, line: JsonObject) -> None:
        table = cast("str", line.pop("record"))
        if table == "bytes":
            self._take_bytes(line)
            return
        self._tally.rows += 1
        if table == "document":
            insert_document(connection, line)
        elif table == "run" and self._number is None:
            self._number = insert_run(connection, line)
        elif self._number is not None:
            insert_row(connection, self._number, table, line)
        else:
            raise PortableDamaged("a row comes before its run")

    def _take_bytes(self, line: JsonObject) -> None:
        try:
            self._pieces.append(base64.b64decode(cast("str", line["base64"]), validate=True))
        except (KeyError, TypeError, ValueError) as error:
            raise PortableDamaged(f"a piece of an artifact cannot be read: {error}") from error
        if line.get("more") is True:
            return
        self._copy.blobs.hold()
        try:
            found = self._copy.blobs.put(b"".join(self._pieces))
        finally:
            self._copy.blobs.let_go()
        self._pieces.clear()
        self._tally.artifacts += 1
        if found != line.get("digest"):
            raise PortableDamaged(f"the bytes of the artifact {line.get('digest')} are others")

    def _damaged(self, what: str) -> PortableDamaged:
        return PortableDamaged(
            f"{self._source} is not what was exported: {what}",
            help="export it again from the database that has the run",
        )


def _encoded(body: JsonObject) -> bytes:
    """Return one line; a text that is not Unicode is written with escapes."""
    text = json.dumps(body, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    try:
        return text.encode() + b"\n"
    except UnicodeEncodeError:
        return json.dumps(body, allow_nan=False, separators=(",", ":")).encode() + b"\n"
