"""`agentctl artifacts`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, cast

import typer

from agentctl.cli.command import command, make
from agentctl.cli.console import Console

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agentctl.jsonvalue import JsonObject, JsonValue
    from agentctl.store.artifacts import Blob, Reference
    from agentctl.store.collect import Collected

app = make("artifacts", "Look at, check, copy and clean up the bytes that runs kept.")

Digest = Annotated[
    str,
    typer.Argument(metavar="DIGEST", help="A SHA-256, or how one begins.", show_default=False),
]
MaybeDigest = Annotated[
    str | None,
    typer.Argument(
        metavar="[DIGEST]", help="A SHA-256, or how one begins. [default: all]", show_default=False
    ),
]
OfRun = Annotated[
    str | None, typer.Option("--run", metavar="RUN", help="Only what this run refers to.")
]
Target = Annotated[
    str, typer.Argument(metavar="FILE", help="The file to make.", show_default=False)
]
Force = Annotated[bool, typer.Option("--force", help="Replace a file that exists.")]
PlanOnly = Annotated[bool, typer.Option("--plan", help="Only say what would be removed.")]


@command(app, "list")
def show(console: Console, run_id: OfRun = None) -> int:
    """List what runs refer to, and the bytes behind it."""
    from agentctl.cli.drive import about
    from agentctl.cli.loading import open_existing
    from agentctl.store.artifacts import blobs, references

    engine = open_existing(console)
    try:
        if run_id is not None:
            about(console, engine, run_id)
        found = references(engine.store, run_id)
        stored = blobs(engine.store)
    finally:
        engine.close()
    wanted = {one.artifact.digest for one in found}
    shown = [one for one in stored.values() if run_id is None or one.digest in wanted]
    data: JsonObject = {
        "references": [_reference(one) for one in found],
        "blobs": [_blob(one) for one in shown],
    }
    console.result("Artifacts", data, lambda: _table(found, shown))
    return 0


@command(app, "inspect")
def inspect(console: Console, digest: Digest) -> int:
    """Show some bytes by their digest: size, state, and which runs refer to them."""
    from agentctl.cli.loading import open_existing
    from agentctl.store.artifacts import blobs, references, resolve

    engine = open_existing(console)
    try:
        stored = blobs(engine.store)
        blob = stored[resolve(stored, digest)]
        problem = engine.store.blobs.problem(blob.digest)
        found = [one for one in references(engine.store) if one.artifact.digest == blob.digest]
        path = str(engine.store.blobs.path_of(blob.digest))
    finally:
        engine.close()
    about = {**_blob(blob), "path": path, "problem": problem}
    data: JsonObject = {"blob": about, "references": [_reference(one) for one in found]}
    console.result("Artifact", data, lambda: _human(about, found))
    return 0


@command(app, "verify")
def verify(console: Console, digest: MaybeDigest = None) -> int:
    """Read bytes and hold them against their digest; name what is missing or damaged."""
    from agentctl.cli.loading import open_existing
    from agentctl.cli.paint import counted, visible
    from agentctl.errors import ArtifactDamaged
    from agentctl.store.artifacts import blobs, damaged, resolve

    engine = open_existing(console)
    try:
        stored = blobs(engine.store)
        wanted = list(stored) if digest is None else [resolve(stored, digest)]
        bad = damaged(engine.store, wanted)
    finally:
        engine.close()
    problems: list[JsonValue] = [
        {"digest": one, "problem": problem, "referenceCount": stored[one].references}
        for one, problem in bad.items()
    ]
    data: JsonObject = {"valid": not bad, "checked": len(wanted), "problems": problems}
    lines = [f"{one} is {problem}" for one, problem in bad.items()]
    lines = lines or [f"{counted(len(wanted), 'artifact')}: every byte fits"]
    console.result("ArtifactVerification", data, lambda: visible("\n".join(lines)))
    return ArtifactDamaged.exit_code if bad else 0


@command(app, "export")
def export(console: Console, digest: Digest, target: Target, force: Force = False) -> int:
    """Copy the exact bytes to a file; its folder is made if need be."""
    from agentctl.cli.loading import open_existing
    from agentctl.cli.paint import visible
    from agentctl.store.artifacts import blobs, resolve
    from agentctl.store.artifacts import export as copy

    engine = open_existing(console)
    try:
        whole = resolve(blobs(engine.store), digest)
        size_bytes = copy(engine.store, whole, target, force=force)
    finally:
        engine.close()
    data: JsonObject = {"digest": whole, "path": target, "sizeBytes": size_bytes}
    console.result("ArtifactExport", data, lambda: visible(f"{target}: {size_bytes} bytes"))
    return 0


@command(app, "gc")
def gc(console: Console, plan: PlanOnly = False) -> int:
    """Remove bytes that nothing refers to, and what interrupted runs left behind."""
    from agentctl.cli.loading import open_existing
    from agentctl.store.collect import collect

    engine = open_existing(console)
    try:
        found = collect(engine.store, plan=plan)
    finally:
        engine.close()
    removed: list[JsonValue] = [
        {"digest": digest, "sizeBytes": size_bytes} for digest, size_bytes in found.blobs
    ]
    data: JsonObject = {
        "planned": plan,
        "removed": removed,
        "leftovers": found.leftovers,
        "freedBytes": found.freed_bytes,
        "kept": found.kept,
    }
    console.result("ArtifactCollection", data, lambda: _collected(found, plan))
    return 0


def _reference(one: Reference) -> JsonObject:
    from agentctl.engine.view import artifact_view

    return {"runId": one.run_id, **artifact_view(one.artifact)}


def _blob(one: Blob) -> JsonObject:
    return {
        "digest": one.digest,
        "sizeBytes": one.size_bytes,
        "storedBytes": one.stored_bytes,
        "referenceCount": one.references,
        "state": one.state,
    }


def _table(found: Iterable[Reference], stored: Iterable[Blob]) -> str:
    from agentctl.cli.paint import counted, size, table

    rows = [
        (
            one.artifact.digest[:16],
            size(one.artifact.size_bytes),
            one.run_id,
            one.artifact.task_id,
            one.artifact.logical_path,
        )
        for one in found
    ]
    parts = [table(("artifact", "size", "run", "task", "path"), rows)] if rows else []
    loose = [one for one in stored if not one.references]
    if loose:
        freed = size(sum(one.size_bytes for one in loose))
        parts.append(f"{counted(len(loose), 'blob')} without a reference, {freed}")
    return "\n".join(parts) or "no artifacts"


def _human(about: JsonObject, found: list[Reference]) -> str:
    from agentctl.cli.paint import facts, size

    pairs = [
        ("artifact", str(about["digest"])),
        ("size", size(cast("int", about["sizeBytes"]))),
        ("state", str(about["state"])),
        ("bytes", str(about["problem"] or "there, and they fit")),
        ("file", str(about["path"])),
    ]
    text = facts(pairs)
    return f"{text}\n\n{_table(found, ())}" if found else text


def _collected(found: Collected, plan: bool) -> str:
    from agentctl.cli.paint import counted, size

    verb = "would remove" if plan else "removed"
    left = f" and {counted(found.leftovers, 'unfinished file')}" if found.leftovers else ""
    removed = f"{verb} {counted(len(found.blobs), 'blob')}{left}, {size(found.freed_bytes)}"
    return f"{removed}; {counted(found.kept, 'blob')} left"
