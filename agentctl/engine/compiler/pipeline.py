"""The compiler: the stages in order, from a document to a sealed plan.

Above: the CLI and the embedded door. Below: one file for each stage. Never: I/O; files come in
through the `SourceReader` port. All problems are gathered before anything is refused; a stage
that would only repeat an earlier problem is left out.
Source: specification, section 3.
"""

from __future__ import annotations

from posixpath import dirname
from typing import TYPE_CHECKING, Final

from agentctl.engine.compiler.agents import AgentStage
from agentctl.engine.compiler.budgets import check_counts, check_prices
from agentctl.engine.compiler.definitions import definitions_of, workflow_digest
from agentctl.engine.compiler.expand import Around, Expander, ExpansionTooLarge
from agentctl.engine.compiler.memory import check_memory, find_conflicts, known_keys
from agentctl.engine.compiler.naming import build_library
from agentctl.engine.compiler.order import topological
from agentctl.engine.compiler.permissions import PermissionStage
from agentctl.engine.compiler.probes import check_probes
from agentctl.engine.compiler.references import check_references
from agentctl.engine.compiler.repetition import check_repetition
from agentctl.engine.compiler.report import Report
from agentctl.engine.compiler.requirements import requirements_of
from agentctl.engine.compiler.routers import check_routers
from agentctl.engine.compiler.schemas import SchemaStage
from agentctl.engine.compiler.source import CompileResult
from agentctl.engine.compiler.sources import Captured, SourceStage
from agentctl.engine.compiler.templates import check_templates, unit_view
from agentctl.engine.plan import Plan, sealed
from agentctl.engine.policy import Policy
from agentctl.engine.values.layers import merge_layers

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from agentctl.engine.compiler.library import Library
    from agentctl.engine.compiler.source import CompileSource
    from agentctl.engine.plan import PlanTask, Predictability
    from agentctl.jsonvalue import JsonObject

_WORST_LAST: Final[Sequence[Predictability]] = (
    "fully_predictable",
    "partially_predictable",
    "requires_execution",
)


def compile_workflow(source: CompileSource) -> CompileResult:
    """Compile a document; the plan is there when no diagnostic is an error."""
    report = Report(places={source.file: source.places})
    captured = Captured(source.reader, source.folder, dirname(source.file))
    library = build_library(source, captured, report)
    variables = SourceStage(captured, report)
    variables.run(source, library)
    expanded = _structure(source, library, report)
    spec_variables = merge_layers(variables.layers["spec"])[0]
    _contents(source, library, spec_variables, report)
    plan = None
    if expanded is not None:
        tasks = _ordered(expanded.tasks)
        budgets = source.document.spec.runtime.budgets
        check_counts(budgets, expanded, source.file, report)
        if source.document.spec.runtime.max_concurrency > 1:
            find_conflicts(tasks, expanded.origins, report)
        if not report.has_errors:
            plan = _plan(source, library, tasks, captured.digests, spec_variables)
    return CompileResult(plan=plan, diagnostics=report.sorted(), layers=variables.layers)


def _structure(source: CompileSource, library: Library, report: Report) -> Expander | None:
    """Check names, routers and repetition; write the tasks out when all of them hold."""
    before = _errors(report)
    check_references(library, report)
    for unit in library.units.values():
        check_routers(unit, report)
        check_repetition(unit, report)
    if _errors(report) > before:
        return None
    spec = source.document.spec
    expanded = Expander(
        library=library,
        default_timeout_seconds=spec.runtime.default_timeout_seconds,
        long_term_namespace=spec.memory.long_term.namespace
        if spec.memory.long_term
        else "default",
    )
    try:
        expanded.unit(library.root, Around())
    except ExpansionTooLarge as error:
        path = f"{library.root.place}.tasks"
        report.add("budget_exceeded", str(error), file=source.file, path=path)
        return None
    return expanded if _unique(expanded, report) else None


def _contents(
    source: CompileSource, library: Library, spec_variables: JsonObject, report: Report
) -> None:
    """Check everything that does not decide the shape of the graph."""
    spec = source.document.spec
    SchemaStage(report).run(spec, library)
    for unit in library.units.values():
        check_memory(library, unit, report)
        keys = known_keys(library, unit, spec.memory.working)
        view = unit_view(library, unit, report, keys, source.overrides)
        check_templates(view, spec_variables if unit.scope.owns_spec else {})
    AgentStage(spec, source.file, report).run()
    check_probes(spec, library, report)
    PermissionStage(spec, library, source.file, report).run(_policy(source))
    check_prices(spec, source.file, report)


def _errors(report: Report) -> int:
    return sum(one.severity == "error" for one in report.found)


def _unique(expanded: Expander, report: Report) -> bool:
    """Refuse a task whose own id is that of an expanded one."""
    seen: set[str] = set()
    for task in expanded.tasks:
        if task.id in seen:
            unit, position = expanded.origins[task.id]
            report.add(
                "duplicate_task",
                f"the id {task.id!r} is also that of an expanded task",
                file=unit.file,
                path=unit.at(position, "id"),
                help="choose an id without `--`",
            )
            return False
        seen.add(task.id)
    return True


def _ordered(tasks: Sequence[PlanTask]) -> list[PlanTask]:
    by_id = {task.id: task for task in tasks}
    order, _ = topological({task.id: task.needs for task in tasks})
    return [by_id[name] for name in order]


def _policy(source: CompileSource) -> Policy:
    policy = source.document.spec.policy
    return Policy(
        approval=policy.approval,
        non_interactive=policy.non_interactive,
        tools_allow=frozenset(policy.tools_allow),
        tools_deny=frozenset(policy.tools_deny),
    )


def _plan(
    source: CompileSource,
    library: Library,
    tasks: Sequence[PlanTask],
    digests: Mapping[str, str],
    spec_variables: JsonObject,
) -> Plan:
    document = source.document
    definitions = definitions_of(document, library, spec_variables)
    worst = max((_WORST_LAST.index(task.predictability) for task in tasks), default=0)
    return sealed(
        Plan(
            workflow_name=document.metadata.name,
            workflow_digest=workflow_digest(document, digests),
            order=tuple(task.id for task in tasks),
            max_concurrency=document.spec.runtime.max_concurrency,
            tasks={task.id: task for task in tasks},
            predictability=_WORST_LAST[worst],
            requirements=requirements_of(
                document.spec, library, tasks, _policy(source), definitions, digests
            ),
            definitions=definitions,
        )
    )
