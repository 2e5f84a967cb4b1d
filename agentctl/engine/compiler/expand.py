"""Stage: every task as it will run, with repeated tasks and sub-workflows written out.

Above: the pipeline. Below: a library without errors in its structure. Ids are stable: the same
document gives the same ids everywhere.
Source: specification, section 3 (expansion, router, sub-workflow).
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Final, cast

from attr import define, evolve, field, frozen

from agentctl.engine.compiler.memory import scoped_input, written_keys
from agentctl.engine.kinds import KINDS
from agentctl.engine.plan import CompensatePlan, Expansion, PlanTask, RetryPlan
from agentctl.jsonvalue import digest
from agentctl.limits import SUBWORKFLOW_DEPTH_MAX, TASKS_MAX
from agentctl.value import Value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentctl.engine.compiler.library import Library, Unit, Uses
    from agentctl.engine.document.flow_model import Compensate, Loop, Retry
    from agentctl.engine.document.model import Task
    from agentctl.engine.plan import Predictability, UsesKind
    from agentctl.jsonvalue import JsonObject, JsonValue

DIGEST_CHARS: Final = 12


class ExpansionTooLarge(Exception):
    """The expansion passed a fixed bound; the message says which."""


@frozen(kw_only=True, eq=False, repr=False)
class Around(Value):
    """Where a unit is expanded: the prefix of its ids, its boundary, and how deep it is."""

    namespace: str = ""
    boundary: str | None = None
    depth: int = 0


@frozen(kw_only=True, eq=False, repr=False)
class Where(Value):
    """One instance of a task: what all its parts share."""

    unit: Unit
    position: int
    task: Task
    around: Around
    needs: tuple[str, ...]
    guards: tuple[str, ...]

    @property
    def id(self) -> str:
        """The full id."""
        return self.around.namespace + self.task.id


@define(eq=False, repr=False)
class Expander:
    """Writes out units; `tasks` grows in declaration order, an aggregate after its children."""

    library: Library
    default_timeout_seconds: int
    long_term_namespace: str
    tasks: list[PlanTask] = field(factory=list)
    origins: dict[str, tuple[Unit, int]] = field(factory=dict)
    expansion_items: int = 0
    loop_iterations: int = 0

    def unit(self, unit: Unit, around: Around) -> list[str]:
        """Write out a unit; return the ids of everything in it."""
        if around.depth > SUBWORKFLOW_DEPTH_MAX:
            raise ExpansionTooLarge(f"workflows are nested more than {SUBWORKFLOW_DEPTH_MAX} deep")
        first = len(self.tasks)
        for position, task in enumerate(unit.tasks):
            self._task(self._where(unit, position, task, around))
        return [one.id for one in self.tasks[first:]]

    def _where(self, unit: Unit, position: int, task: Task, around: Around) -> Where:
        prefix = around.namespace
        needs = tuple(prefix + need for need in unit.needs[task.id])
        if not needs and around.boundary is not None:
            needs = (around.boundary,)
        guards = tuple(prefix + router for router in unit.routers.get(task.id, ()))
        return Where(
            unit=unit, position=position, task=task, around=around, needs=needs, guards=guards
        )

    def _task(self, where: Where) -> None:
        task = where.task
        if task.route is not None:
            self._router(where)
        elif task.foreach is not None:
            name = task.foreach.as_
            self._repeat(
                where,
                [{name: item, "foreachIndex": i} for i, item in enumerate(task.foreach.items)],
            )
        elif task.matrix is not None:
            self._repeat(where, _cells(task.matrix.axes))
        elif task.loop is not None:
            self._loop(where, task.loop)
        else:
            self._single(where, where.id, None)

    def _repeat(self, where: Where, bindings: Sequence[JsonObject]) -> None:
        """Write out independent children and their aggregate."""
        self.expansion_items += len(bindings)
        children: list[str] = []
        for index, binding in enumerate(bindings):
            child = child_id(where.id, index, binding)
            expansion = Expansion(parent=where.id, index=index, binding=binding)
            self._single(where, child, expansion)
            children.append(child)
        self._aggregate(where, "aggregate", [*children], children)

    def _loop(self, where: Where, loop: Loop) -> None:
        """Write out chained iterations and their aggregate, which has the guard."""
        self.loop_iterations += loop.max_iterations
        children: list[str] = []
        for index in range(loop.max_iterations):
            binding: JsonObject = {"loopIndex": index}
            if not children:
                binding["loopPrevious"] = loop.initial
            child = child_id(where.id, index, binding)
            expansion = Expansion(parent=where.id, index=index, binding=binding)
            previous = children[-1] if children else None
            needs = where.needs if previous is None else (*where.needs, previous)
            made = self._leaf(evolve(where, needs=needs), child, expansion)
            self._add(evolve(made, previous=previous, when=None), where)
            children.append(child)
        name: JsonObject = {
            "children": [*children],
            "condition": loop.while_,
            "maxIterations": loop.max_iterations,
        }
        self._aggregate(where, "loop_aggregate", name, children)

    def _single(self, where: Where, task_id: str, expansion: Expansion | None) -> None:
        uses = where.unit.uses[where.task.id]
        if uses.form == "workflow":
            self._invoke(where, task_id, expansion, self.library.units[uses.name])
            return
        self._add(self._leaf(where, task_id, expansion), where)

    def _leaf(self, where: Where, task_id: str, expansion: Expansion | None) -> PlanTask:
        """Return one instance of an action or agent task."""
        uses = where.unit.uses[where.task.id]
        action = self.library.actions[uses.name] if uses.form == "action" else None
        defaults: JsonObject = {} if action is None else action.defaults
        given: JsonObject = {**defaults, **where.task.with_}
        kind = None if action is None else action.kind
        return self._base(
            where,
            task_id,
            cast("UsesKind", uses.form),
            uses.name,
            input=self._scoped(kind, given, where),
            expansion=expansion,
            memory_writes=tuple(
                where.around.namespace + key for key in written_keys(kind, given, where.task)
            ),
            timeout_seconds=self._timeout_seconds(where),
            predictability="requires_execution" if kind is None else KINDS[kind].predictability,
            output_schema=where.task.output_schema,
            retry=_retry(where.task.retry or self._agent_retry(uses)),
            compensate=self._inverse(where, where.task.compensate),
        )

    def _router(self, where: Where) -> None:
        route = where.task.route
        assert route is not None
        prefix = where.around.namespace
        cases: list[JsonValue] = [
            {"equals": case.equals, "tasks": [prefix + one for one in case.tasks]}
            for case in route.cases
        ]
        name: JsonObject = {
            "select": route.select,
            "cases": cases,
            "default": [prefix + one for one in route.default],
        }
        made = self._base(where, where.id, "router", name, output_schema=where.task.output_schema)
        self._add(made, where)

    def _invoke(
        self, where: Where, task_id: str, expansion: Expansion | None, target: Unit
    ) -> None:
        """Write out a boundary, the unit inside, and the aggregate that leaves it."""
        given = dict(where.task.with_)
        seal = digest({"with": given, "inputSchema": target.input_schema})[:DIGEST_CHARS]
        boundary = f"{task_id}--inputs-{seal}"
        namespace = f"{task_id}--"
        entry: JsonObject = {
            "name": target.name,
            "version": target.version,
            "inputSchema": target.input_schema,
            "defaults": target.inputs,
        }
        # The boundary stands for the invocation wherever a guard asks who is meant.
        stand_in = expansion or Expansion(parent=task_id, index=0, binding={})
        self._add(
            self._base(
                where,
                boundary,
                "subworkflow_input",
                entry,
                input=given,
                expansion=stand_in,
            ),
            where,
        )
        around = Around(namespace=namespace, boundary=boundary, depth=where.around.depth + 1)
        inside = [boundary, *self.unit(target, around)]
        leaving: JsonObject = {
            "name": target.name,
            "version": target.version,
            "children": [*inside],
            "outputs": target.outputs,
            "outputSchema": target.output_schema,
            "namespace": namespace,
        }
        made = self._base(
            where,
            task_id,
            "subworkflow_aggregate",
            leaving,
            needs=tuple(dict.fromkeys((*where.needs, *inside))),
            expansion=expansion,
            output_schema=where.task.output_schema,
        )
        self._add(evolve(made, when=None), where)

    def _aggregate(
        self, where: Where, kind: UsesKind, name: JsonValue, children: Sequence[str]
    ) -> None:
        needs = tuple(dict.fromkeys((*where.needs, *children)))
        made = self._base(where, where.id, kind, name, needs=needs)
        # The children ask `when`; only where there is none must the aggregate do so itself.
        self._add(evolve(made, when=None) if children else made, where)

    def _base(
        self,
        where: Where,
        task_id: str,
        kind: UsesKind,
        name: JsonValue,
        *,
        needs: tuple[str, ...] | None = None,
        input: JsonObject | None = None,
        expansion: Expansion | None = None,
        memory_writes: tuple[str, ...] = (),
        timeout_seconds: int | None = None,
        predictability: Predictability = "fully_predictable",
        output_schema: JsonValue = None,
        retry: RetryPlan | None = None,
        compensate: CompensatePlan | None = None,
    ) -> PlanTask:
        return PlanTask(
            id=task_id,
            uses_kind=kind,
            uses_name=name,
            needs=where.needs if needs is None else needs,
            when=where.task.when,
            vars=where.unit.variables[where.position],
            input={} if input is None else input,
            retry=RetryPlan() if retry is None else retry,
            timeout_seconds=timeout_seconds or self.default_timeout_seconds,
            failure=where.task.failure,
            output_schema=output_schema,
            memory_writes=memory_writes,
            expansion=expansion,
            route_guards=where.guards,
            compensate=compensate,
            predictability=predictability,
            namespace=where.around.namespace,
            inputs_from=where.around.boundary,
        )

    def _timeout_seconds(self, where: Where) -> int:
        if where.task.timeout_seconds is not None:
            return where.task.timeout_seconds
        uses = where.unit.uses[where.task.id]
        if uses.form == "agent":
            return self.library.agents[uses.name].agent.timeout_seconds
        own = self.library.actions[uses.name].timeout_seconds
        return self.default_timeout_seconds if own is None else own

    def _scoped(self, kind: str | None, given: JsonObject, where: Where) -> JsonObject:
        if not where.around.namespace:
            return given
        return scoped_input(kind, given, where.around.namespace, self.long_term_namespace)

    def _inverse(self, where: Where, inverse: Compensate | None) -> CompensatePlan | None:
        if inverse is None:
            return None
        name = where.unit.scope.actions[inverse.uses.removeprefix("action:")]
        action = self.library.actions[name]
        own = inverse.timeout_seconds or action.timeout_seconds
        return CompensatePlan(
            uses=name,
            input=self._scoped(action.kind, {**action.defaults, **inverse.with_}, where),
            retry=_retry(inverse.retry),
            timeout_seconds=own or self.default_timeout_seconds,
        )

    def _agent_retry(self, uses: Uses) -> Retry | None:
        """Return the retries that an agent declares for tasks without their own."""
        return self.library.agents[uses.name].agent.retry if uses.form == "agent" else None

    def _add(self, made: PlanTask, where: Where) -> None:
        if len(self.tasks) >= TASKS_MAX:
            raise ExpansionTooLarge(f"the plan has more than {TASKS_MAX} tasks")
        self.tasks.append(made)
        self.origins.setdefault(made.id, (where.unit, where.position))


def child_id(parent: str, index: int, binding: JsonObject) -> str:
    """Return the id of an expanded child: its parent, its place, and what is bound to it."""
    return f"{parent}--{index:04d}-{digest(binding)[:DIGEST_CHARS]}"


def _cells(axes: dict[str, list[JsonValue]]) -> list[JsonObject]:
    """Return the bindings of a matrix: axes by name, values in order, the last axis fastest."""
    names = sorted(axes)
    made: list[JsonObject] = []
    for index, values in enumerate(product(*(axes[name] for name in names))):
        cell: JsonObject = dict(zip(names, values, strict=True))
        made.append({"matrix": cell, "matrixIndex": index})
    return made


def _retry(retry: Retry | None) -> RetryPlan:
    if retry is None:
        return RetryPlan()
    return RetryPlan(max_attempts=retry.max_attempts, backoff_ms=retry.backoff_ms)
