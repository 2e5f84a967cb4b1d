"""`agentctl schema`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentctl.cli import options
from agentctl.cli.command import command, single
from agentctl.cli.console import Console

if TYPE_CHECKING:
    from agentctl.jsonvalue import JsonObject

app = single()


@command(app, "schema")
def schema(console: Console, write: options.WriteTo = None) -> int:
    """Show or write the JSON Schema of workflow documents, for editors and checks."""
    import json

    from agentctl.cli.writing import write_file
    from agentctl.engine.document.schema import document_schema

    data = document_schema()
    if write is not None:
        text = json.dumps(data, ensure_ascii=False, indent=2) + "\n"
        size_bytes = write_file(write, text)
        written: JsonObject = {"path": write, "bytes": size_bytes}
        console.result("SchemaWritten", written, lambda: f"{write}: {size_bytes} bytes")
        return 0
    console.result("Schema", data, lambda: json.dumps(data, ensure_ascii=False, indent=2))
    return 0
