"""`agentctl migrate`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentctl.cli import options
from agentctl.cli.command import command, single
from agentctl.cli.console import Console

if TYPE_CHECKING:
    from agentctl.jsonvalue import JsonObject

app = single()


@command(app, "migrate")
def migrate(console: Console, file: options.File, write: options.WriteTo = None) -> int:
    """Translate an unversioned playbook into a workflow of the present version."""
    from agentctl.cli import problems
    from agentctl.cli.writing import write_file
    from agentctl.engine.document.migration import migrate_text
    from agentctl.errors import DocumentError

    text, found = migrate_text(_read(file), file)
    if text is None:
        raise DocumentError(found)
    data: JsonObject = {"file": file, "warnings": problems.as_json(found)}
    if write is None:
        console.result("Migration", {**data, "text": text}, lambda: text)
        return 0
    size_bytes = write_file(write, text)
    written: JsonObject = {**data, "path": write, "bytes": size_bytes}
    console.result("Migration", written, lambda: f"{write}: {size_bytes} bytes")
    return 0


def _read(file: str) -> bytes:
    from agentctl.errors import UsageError
    from agentctl.limits import DOCUMENT_BYTES_MAX

    try:
        with open(file, "rb") as opened:
            return opened.read(DOCUMENT_BYTES_MAX + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UsageError(f"{file!r} cannot be read: {reason}") from None
