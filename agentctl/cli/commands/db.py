"""`agentctl db`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, cast

import typer

from agentctl.cli.command import command, make
from agentctl.cli.console import Console

if TYPE_CHECKING:
    from agentctl.jsonvalue import JsonObject, JsonValue
    from agentctl.store.upkeep import Backup

app = make("db", "Look after the database.")

Target = Annotated[
    str, typer.Argument(metavar="FILE", help="The file to make.", show_default=False)
]


@command(app, "migrate")
def migrate(console: Console) -> int:
    """Make the database if there is none, and bring its schema up to date."""
    from agentctl.cli.loading import open_engine
    from agentctl.store.upkeep import info

    engine = open_engine(console)
    try:
        data = info(engine.store)
    finally:
        engine.close()
    text = f"{data['path']}: schema {data['schemaVersion']}"
    console.result("DatabaseMigration", data, lambda: text)
    return 0


@command(app, "info")
def info(console: Console) -> int:
    """Show where the database is, how large, how it is set up and what it holds."""
    from agentctl.cli.loading import open_existing
    from agentctl.store.upkeep import info as info_of

    engine = open_existing(console)
    try:
        data = info_of(engine.store)
    finally:
        engine.close()
    console.result("DatabaseInfo", data, lambda: _facts(data))
    return 0


@command(app, "check")
def check(console: Console) -> int:
    """Check pages, references, migrations and every run's journal."""
    from agentctl.cli.loading import open_existing
    from agentctl.cli.paint import visible
    from agentctl.errors import StoreCorrupt
    from agentctl.store.upkeep import check as problems_of

    engine = open_existing(console)
    try:
        found = problems_of(engine.store)
    finally:
        engine.close()
    listed: list[JsonValue] = [*found]
    data: JsonObject = {"path": console.db, "valid": not found, "problems": listed}
    console.result(
        "DatabaseCheck",
        data,
        lambda: "\n".join(map(visible, found)) if found else f"{console.db}: sound",
    )
    return StoreCorrupt.exit_code if found else 0


@command(app, "backup")
def backup(console: Console, target: Target) -> int:
    """Write a consistent copy to a new file, its artifacts beside it; runs may go on meanwhile."""
    from agentctl.cli.loading import open_existing
    from agentctl.errors import ArtifactDamaged
    from agentctl.store.upkeep import backup as copy

    engine = open_existing(console)
    try:
        made = copy(engine.store, target)
    finally:
        engine.close()
    data: JsonObject = {
        "path": target,
        "bytes": made.size_bytes,
        "artifacts": made.artifacts,
        "artifactBytes": made.artifact_bytes,
        "damagedArtifacts": dict(made.damaged),
    }
    console.result("DatabaseBackup", data, lambda: _backup(target, made))
    return ArtifactDamaged.exit_code if made.damaged else 0


def _backup(target: str, made: Backup) -> str:
    from agentctl.cli.paint import counted, visible

    kept = counted(made.artifacts, "artifact")
    lines = [f"{target}: {made.size_bytes} bytes; {kept}, {made.artifact_bytes} bytes"]
    lines += made.damaged.values()
    return "\n".join(map(visible, lines))


def _facts(data: JsonObject) -> str:
    from agentctl.cli.paint import facts, size

    runs = cast("dict[str, int]", data["runs"])
    return facts(
        (
            ("database", str(data["path"])),
            ("size", size(cast("int", data["sizeBytes"]))),
            ("schema", f"{data['schemaVersion']} of {data['newestSchemaVersion']}"),
            ("journal", f"{data['journalMode']}, synchronous {data['synchronous']}"),
            ("runs", ", ".join(f"{count} {state}" for state, count in runs.items()) or "none"),
        )
    )
