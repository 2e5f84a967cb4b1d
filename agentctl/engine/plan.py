"""The compiled plan: everything a run needs, fixed before it starts.

Above: the compiler, which makes plans. Below: the scheduler, which reads them, and the store,
which keeps their canonical JSON. A plan holds data only; it never reads a file or a clock.

The JSON form (`Plan.to_json`) is the public one of `agentctl plan` and of the database, and
`planDigest` is the digest of that form without the digest itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, cast

from attr import field, frozen

from agentctl.jsonvalue import digest
from agentctl.value import Value

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentctl.jsonvalue import JsonObject, JsonValue

UsesKind = Literal[
    "action",
    "agent",
    "aggregate",
    "router",
    "loop_aggregate",
    "subworkflow_input",
    "subworkflow_aggregate",
]
Predictability = Literal["fully_predictable", "partially_predictable", "requires_execution"]
FailureBehavior = Literal["stop", "continue"]

FORMAT_VERSION = 1


@frozen(kw_only=True, eq=False, repr=False)
class Expansion(Value):
    """Where an expanded child comes from: parent task, position and bound values."""

    parent: str
    index: int
    binding: JsonObject


@frozen(kw_only=True, eq=False, repr=False)
class RetryPlan(Value):
    """How often one task may be attempted, and the base of its exponential back-off."""

    max_attempts: int = 1
    backoff_ms: int = 0


@frozen(kw_only=True, eq=False, repr=False)
class CompensatePlan(Value):
    """The inverse action of a task."""

    uses: str
    input: JsonObject
    retry: RetryPlan
    timeout_seconds: int


@frozen(kw_only=True, eq=False, repr=False)
class PlanTask(Value):
    """One task as it will run.

    `uses_name` by `uses_kind`: the definition's name (action, agent); the child ids (aggregate);
    `{select, cases: [{equals, tasks}], default}` (router); `{children, condition, maxIterations}`
    (loop_aggregate); `{name, version, inputSchema, defaults}` (subworkflow_input);
    `{name, version, children, outputs, outputSchema, namespace}` (subworkflow_aggregate).

    `namespace` prefixes the ids and memory keys that the task's templates name, and
    `inputs_from` is the boundary task whose output is the task's `inputs` ("" and None at the
    top level). `previous` is the loop child whose output is `vars.loopPrevious`.
    """

    id: str
    uses_kind: UsesKind
    uses_name: JsonValue
    needs: tuple[str, ...] = ()
    when: str | None = None
    vars: JsonObject = field(factory=dict)
    input: JsonObject = field(factory=dict)
    retry: RetryPlan = RetryPlan()
    timeout_seconds: int = 120
    failure: FailureBehavior = "stop"
    output_schema: JsonValue = None
    memory_writes: tuple[str, ...] = ()
    expansion: Expansion | None = None
    route_guards: tuple[str, ...] = ()
    compensate: CompensatePlan | None = None
    predictability: Predictability = "fully_predictable"
    namespace: str = ""
    inputs_from: str | None = None
    previous: str | None = None


@frozen(kw_only=True, eq=False, repr=False)
class Plan(Value):
    """A whole compiled workflow.

    `definitions` has the normalised fragments that executors need, in document spelling, with
    defaults filled in: actions, agents (with captured `instructions`), providers, tools,
    policy, memory, outputs, compensation, budgets, pricing, mcpServers, a2aPeers, output,
    inputs (defaults) and inputSchema.
    """

    workflow_name: str
    workflow_digest: str
    order: tuple[str, ...]
    max_concurrency: int
    tasks: Mapping[str, PlanTask]
    predictability: Predictability
    requirements: JsonObject
    definitions: JsonObject
    plan_digest: str = ""

    def to_json(self) -> JsonObject:
        """Return the public JSON form."""
        body = _plan_body(self)
        body["planDigest"] = self.plan_digest or digest(body)
        return body


def sealed(plan: Plan) -> Plan:
    """Return the plan with its digest computed."""
    from attr import evolve

    return evolve(plan, plan_digest=digest(_plan_body(plan)))


def plan_from_json(data: JsonObject) -> Plan:
    """Read back what `Plan.to_json` wrote."""
    tasks = cast("dict[str, JsonObject]", data["tasks"])
    return Plan(
        workflow_name=cast("str", data["workflowName"]),
        workflow_digest=cast("str", data["workflowDigest"]),
        order=tuple(cast("list[str]", data["order"])),
        max_concurrency=cast("int", data["maxConcurrency"]),
        tasks={name: _task_from_json(task) for name, task in tasks.items()},
        predictability=cast("Predictability", data["predictability"]),
        requirements=cast("JsonObject", data["requirements"]),
        definitions=cast("JsonObject", data["definitions"]),
        plan_digest=cast("str", data["planDigest"]),
    )


def _plan_body(plan: Plan) -> JsonObject:
    return {
        "formatVersion": FORMAT_VERSION,
        "workflowName": plan.workflow_name,
        "workflowDigest": plan.workflow_digest,
        "order": list(plan.order),
        "maxConcurrency": plan.max_concurrency,
        "tasks": {name: _task_to_json(task) for name, task in plan.tasks.items()},
        "predictability": plan.predictability,
        "requirements": plan.requirements,
        "definitions": plan.definitions,
    }


def _task_to_json(task: PlanTask) -> JsonObject:
    body: JsonObject = {
        "id": task.id,
        "uses": {"kind": task.uses_kind, "name": task.uses_name},
        "needs": list(task.needs),
        "when": task.when,
        "vars": task.vars,
        "input": task.input,
        "retry": _retry_to_json(task.retry),
        "timeoutSeconds": task.timeout_seconds,
        "failure": task.failure,
        "outputSchema": task.output_schema,
        "memoryWrites": list(task.memory_writes),
        "routeGuards": [{"router": router} for router in task.route_guards],
        "predictability": task.predictability,
        "namespace": task.namespace,
        "inputsFrom": task.inputs_from,
        "previous": task.previous,
    }
    if task.expansion is not None:
        body["expansion"] = {
            "parent": task.expansion.parent,
            "index": task.expansion.index,
            "binding": task.expansion.binding,
        }
    if task.compensate is not None:
        body["compensate"] = _compensate_to_json(task.compensate)
    return body


def _retry_to_json(retry: RetryPlan) -> JsonObject:
    return {"maxAttempts": retry.max_attempts, "backoffMs": retry.backoff_ms}


def _compensate_to_json(inverse: CompensatePlan) -> JsonObject:
    return {
        "uses": inverse.uses,
        "input": inverse.input,
        "retry": _retry_to_json(inverse.retry),
        "timeoutSeconds": inverse.timeout_seconds,
    }


def _retry_from_json(data: JsonObject) -> RetryPlan:
    return RetryPlan(
        max_attempts=cast("int", data["maxAttempts"]), backoff_ms=cast("int", data["backoffMs"])
    )


def _compensate_from_json(data: JsonObject | None) -> CompensatePlan | None:
    if data is None:
        return None
    return CompensatePlan(
        uses=cast("str", data["uses"]),
        input=cast("JsonObject", data["input"]),
        retry=_retry_from_json(cast("JsonObject", data["retry"])),
        timeout_seconds=cast("int", data["timeoutSeconds"]),
    )


def _expansion_from_json(data: JsonObject | None) -> Expansion | None:
    if data is None:
        return None
    return Expansion(
        parent=cast("str", data["parent"]),
        index=cast("int", data["index"]),
        binding=cast("JsonObject", data["binding"]),
    )


def _task_from_json(data: JsonObject) -> PlanTask:
    uses = cast("JsonObject", data["uses"])
    guards = cast("list[dict[str, str]]", data["routeGuards"])
    return PlanTask(
        id=cast("str", data["id"]),
        uses_kind=cast("UsesKind", uses["kind"]),
        uses_name=uses["name"],
        needs=tuple(cast("list[str]", data["needs"])),
        when=cast("str | None", data["when"]),
        vars=cast("JsonObject", data["vars"]),
        input=cast("JsonObject", data["input"]),
        retry=_retry_from_json(cast("JsonObject", data["retry"])),
        timeout_seconds=cast("int", data["timeoutSeconds"]),
        failure=cast("FailureBehavior", data["failure"]),
        output_schema=data["outputSchema"],
        memory_writes=tuple(cast("list[str]", data["memoryWrites"])),
        expansion=_expansion_from_json(cast("JsonObject | None", data.get("expansion"))),
        route_guards=tuple(guard["router"] for guard in guards),
        compensate=_compensate_from_json(cast("JsonObject | None", data.get("compensate"))),
        predictability=cast("Predictability", data["predictability"]),
        namespace=cast("str", data["namespace"]),
        inputs_from=cast("str | None", data["inputsFrom"]),
        previous=cast("str | None", data["previous"]),
    )
