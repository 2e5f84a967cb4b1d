"""Stage: packs are found, and every name of the document and of its packs gets its meaning.

Above: the pipeline. Below: the packs. Makes the library.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentctl.engine.compiler.definitions import normal_object
from agentctl.engine.compiler.library import ActionEntry, Library, Scope, Unit
from agentctl.engine.kinds import FUNCTION_KIND

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from agentctl.engine.compiler.report import Report
    from agentctl.engine.compiler.source import CompileSource, KnownAction
    from agentctl.engine.compiler.sources import Captured
    from agentctl.engine.document.flow_model import Subworkflow
    from agentctl.engine.document.model import Action, Spec
    from agentctl.engine.packs import ResolvedPack
    from agentctl.jsonvalue import JsonObject


def build_library(source: CompileSource, captured: Captured, report: Report) -> Library:
    """Resolve packs and gather every action and workflow under its full name."""
    spec = source.document.spec
    packs = _resolve(source, captured, report)
    library = Library()
    for name, action in spec.actions.items():
        library.actions[name] = action_entry(name, action, source.file, f"spec.actions.{name}")
    for name, known in source.known_actions.items():
        if name not in library.actions:
            library.actions[name] = _function_entry(known, source.file)
    own = [*library.actions]
    for pack in packs.values():
        add_pack_actions(library, pack)
    direct = [packs[one.name] for one in spec.packs if one.name in packs]
    scope = Scope(
        actions={**_exports(direct, "actions"), **{name: name for name in own}},
        workflows={
            **_exports(direct, "workflows"),
            **{name: name for name in spec.subworkflows},
        },
        agents={name: name for name in spec.agents},
        owns_spec=True,
    )
    _clashes(spec, direct, source.file, report)
    library.units[""] = _root(source, scope)
    for name, workflow in spec.subworkflows.items():
        if not name:
            message = "a sub-workflow needs a name"
            report.add("schema_violation", message, file=source.file, path="spec.subworkflows")
            continue
        place = f"spec.subworkflows.{name}"
        library.units[name] = _unit(name, workflow, source.file, "", place, scope, report)
    for pack in packs.values():
        add_pack_units(library, pack, packs, report)
    return library


def action_entry(name: str, action: Action, file: str, place: str) -> ActionEntry:
    """Return an action of a document or pack."""
    return ActionEntry(
        name=name,
        kind=action.kind,
        defaults=_defaults(action),
        timeout_seconds=action.timeout_seconds,
        idempotency=action.idempotency,
        definition=normal_object(action),
        file=file,
        place=place,
    )


def _defaults(action: Action) -> JsonObject:
    """Return the input that a task may replace; for a shell action its command line as well."""
    if action.kind != "builtin.shell.exec":
        return action.with_
    line: JsonObject = {"command": action.command, "args": [*action.args]}
    if action.cwd is not None:
        line["cwd"] = action.cwd
    return {**line, **action.with_}


def add_pack_actions(library: Library, pack: ResolvedPack) -> None:
    """Add a pack's actions under their full names."""
    for name, action in pack.manifest.actions.items():
        full = f"{pack.manifest.name}.{name}"
        library.actions[full] = action_entry(full, action, pack.file, f"actions.{name}")


def add_pack_units(
    library: Library, pack: ResolvedPack, packs: Mapping[str, ResolvedPack], report: Report
) -> None:
    """Add a pack's workflows, which see the pack itself and its direct dependencies."""
    manifest = pack.manifest
    prefix = f"{manifest.name}."
    direct = [pack, *(packs[name] for name in manifest.dependencies if name in packs)]
    scope = Scope(
        actions={
            **_exports(direct, "actions"),
            **{name: prefix + name for name in manifest.actions},
        },
        workflows={
            **_exports(direct, "workflows"),
            **{name: prefix + name for name in manifest.workflows},
        },
        agents={},
        owns_spec=False,
    )
    for name, workflow in manifest.workflows.items():
        library.units[prefix + name] = _unit(
            prefix + name, workflow, pack.file, pack.base, f"workflows.{name}", scope, report
        )


def _resolve(source: CompileSource, captured: Captured, report: Report) -> dict[str, ResolvedPack]:
    spec = source.document.spec
    if not spec.packs:
        return {}
    from agentctl.engine.packs import PackResolver, Wanted

    resolver = PackResolver(
        files=captured, report=report, trust=spec.pack_trust, version=source.version
    )
    seen: set[str] = set()
    for index, one in enumerate(spec.packs):
        place = f"spec.packs[{index}]"
        if one.name in seen:
            message = f"pack {one.name!r} is declared twice"
            report.add("pack_error", message, file=source.file, path=f"{place}.name")
            continue
        seen.add(one.name)
        resolver.resolve(
            Wanted(
                name=one.name,
                version=one.version,
                source=one.source,
                path=one.path,
                integrity=one.integrity,
                file=source.file,
                place=place,
                base="",
            )
        )
    return resolver.found


def _exports(packs: Iterable[ResolvedPack], section: str) -> dict[str, str]:
    names: dict[str, str] = {}
    for pack in packs:
        manifest = pack.manifest
        things = manifest.actions if section == "actions" else manifest.workflows
        names.update({(full := f"{manifest.name}.{name}"): full for name in things})
    return names


def _clashes(spec: Spec, packs: Iterable[ResolvedPack], file: str, report: Report) -> None:
    """Refuse names of the document that a pack has, too."""
    exported = _exports(packs, "actions"), _exports(packs, "workflows")
    for section, names, taken in (
        ("actions", spec.actions, exported[0]),
        ("subworkflows", spec.subworkflows, exported[1]),
    ):
        for name in names:
            if name in taken:
                message = f"{name!r} is also the name of something in a pack"
                path = f"spec.{section}.{name}"
                report.add("pack_error", message, file=file, path=path, help="rename it")


def _function_entry(known: KnownAction, file: str) -> ActionEntry:
    return ActionEntry(
        name=known.name,
        kind=FUNCTION_KIND,
        defaults={},
        timeout_seconds=None,
        idempotency=known.idempotency,
        definition={
            "kind": FUNCTION_KIND,
            "with": {},
            "idempotency": known.idempotency,
            "inputSchema": known.input_schema,
            **({} if known.probe is None else {"probe": _probe(known.probe)}),
        },
        file=file,
        place="",
    )


def _probe(given: JsonObject) -> JsonObject:
    """Return a registered function's probe with every default filled in."""
    return {"uses": "", "with": {}, "mode": "manual", **given}


def _root(source: CompileSource, scope: Scope) -> Unit:
    spec = source.document.spec
    return Unit(
        name="",
        version="",
        file=source.file,
        base="",
        place="spec",
        tasks=spec.tasks,
        scope=scope,
        inputs=spec.inputs,
        input_schema=spec.input_schema,
        outputs=spec.outputs,
        output_schema=None,
    )


def _unit(
    name: str,
    workflow: Subworkflow,
    file: str,
    base: str,
    place: str,
    scope: Scope,
    report: Report,
) -> Unit:
    from agentctl.engine.versions import parse_version

    if parse_version(workflow.version) is None:
        message = f"{workflow.version!r} is not a semantic version"
        path = f"{place}.version"
        report.add("schema_violation", message, file=file, path=path, help="write 1.0.0")
    return Unit(
        name=name,
        version=workflow.version,
        file=file,
        base=base,
        place=place,
        tasks=workflow.tasks,
        scope=scope,
        inputs=workflow.inputs,
        input_schema=workflow.input_schema,
        outputs=workflow.outputs,
        output_schema=workflow.output_schema,
    )
