"""Compile a pack's manifest by itself, for `check` and `plan`.

Above: the CLI. Below: the stages that workflows go through as well. What depends on the policy
of the workflow that will use the pack is judged there.
"""

from __future__ import annotations

from posixpath import dirname
from typing import TYPE_CHECKING

from attr import field, frozen

from agentctl.engine.compiler.library import Library
from agentctl.engine.compiler.memory import check_memory, known_keys
from agentctl.engine.compiler.naming import add_pack_actions, add_pack_units
from agentctl.engine.compiler.references import check_references
from agentctl.engine.compiler.repetition import check_repetition
from agentctl.engine.compiler.report import Report
from agentctl.engine.compiler.routers import check_routers
from agentctl.engine.compiler.schemas import SchemaStage
from agentctl.engine.compiler.sources import Captured, fill_variables
from agentctl.engine.compiler.templates import check_templates, unit_view
from agentctl.engine.packs import PackResolver, TrustAll
from agentctl.engine.values.capture import CapturedSources
from agentctl.jsonvalue import digest
from agentctl.value import Value
from agentctl.version import VERSION

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentctl.diagnostics import Diagnostic
    from agentctl.engine.document.pack_model import PackManifest
    from agentctl.engine.packs import ResolvedPack
    from agentctl.engine.values.capture import SourceReader
    from agentctl.jsonvalue import JsonObject, JsonValue


@frozen(kw_only=True, eq=False, repr=False)
class PackResult(Value):
    """What a manifest exports, unless there are errors; and every diagnostic."""

    plan: JsonObject | None
    diagnostics: Sequence[Diagnostic]


@frozen(kw_only=True, eq=False, repr=False)
class PackFile(Value):
    """A manifest to compile: its bytes, its name for people, and where its references start."""

    raw: bytes
    file: str
    folder: str = ""
    reader: SourceReader = field(factory=CapturedSources)
    version: str = VERSION


def compile_pack(pack: PackFile) -> PackResult:
    """Check a manifest, its dependencies and everything inside."""
    report = Report()
    captured = Captured(pack.reader, pack.folder, dirname(pack.file))
    resolver = PackResolver(files=captured, report=report, trust=TrustAll(), version=pack.version)
    main = resolver.resolve_own(pack.raw, pack.file)
    if main is None:
        return PackResult(plan=None, diagnostics=report.sorted())
    library = Library()
    for one in resolver.found.values():
        add_pack_actions(library, one)
    for one in resolver.found.values():
        add_pack_units(library, one, resolver.found, report)
    fill_variables(library, captured, report)
    _check(library, report)
    plan = None if report.has_errors else _summary(main, resolver, captured)
    return PackResult(plan=plan, diagnostics=report.sorted())


def _check(library: Library, report: Report) -> None:
    check_references(library, report)
    SchemaStage(report).run_library(library)
    for unit in library.units.values():
        check_routers(unit, report)
        check_repetition(unit, report)
        check_memory(library, unit, report)
        view = unit_view(library, unit, report, known_keys(library, unit, {}), ())
        check_templates(view, {})


def _summary(main: ResolvedPack, resolver: PackResolver, captured: Captured) -> JsonObject:
    """Return what the pack exports and needs, with a digest over everything that it reads."""
    manifest = main.manifest
    body: JsonObject = {
        "name": manifest.name,
        "version": manifest.version,
        "agentctl": manifest.agentctl,
        "integrity": main.integrity,
        "capabilities": list(manifest.capabilities),
        "providers": list(manifest.providers),
        "actions": {
            f"{manifest.name}.{name}": {"kind": one.kind} for name, one in manifest.actions.items()
        },
        "workflows": _workflows(manifest),
        "dependencies": [
            {"name": name, "version": one.manifest.version, "integrity": one.integrity}
            for name, one in resolver.found.items()
            if one is not main
        ],
        "sources": [
            {"path": path, "digest": captured.digests[path]} for path in sorted(captured.digests)
        ],
    }
    return {**body, "packDigest": digest(body)}


def _workflows(manifest: PackManifest) -> dict[str, JsonValue]:
    return {
        f"{manifest.name}.{name}": {
            "version": one.version,
            "tasks": [task.id for task in one.tasks],
            "inputSchema": one.input_schema,
            "outputSchema": one.output_schema,
        }
        for name, one in manifest.workflows.items()
    }
