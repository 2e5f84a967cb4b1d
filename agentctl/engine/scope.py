"""What a task's templates can see: inputs, variables, memory and outputs of other tasks.

Above: the runner and the programs. Below: templates. Tasks of a sub-workflow see their own
namespace only: `tasks.X`, `inputs.` and memory keys mean those of their invocation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, TypeVar, cast

from agentctl.engine.template import Scope

if TYPE_CHECKING:
    from agentctl.engine.plan import PlanTask
    from agentctl.engine.state import RunState
    from agentctl.jsonvalue import JsonObject, JsonValue

V = TypeVar("V")


class Prefixed(Mapping[str, V]):
    """A live view of the entries whose keys start with a prefix, without the prefix."""

    def __init__(self, whole: Mapping[str, V], prefix: str) -> None:
        self._whole = whole
        self._prefix = prefix

    def __getitem__(self, key: str) -> V:
        """Return the entry stored under prefix and key."""
        return self._whole[self._prefix + key]

    def __iter__(self) -> Iterator[str]:
        """Iterate over the short keys."""
        start = len(self._prefix)
        return (key[start:] for key in self._whole if key.startswith(self._prefix))

    def __len__(self) -> int:
        """Return how many entries the view has."""
        return sum(1 for _ in self)


def task_scope(
    state: RunState, task: PlanTask, memory: Mapping[str, JsonValue] | None = None
) -> Scope:
    """Return the scope of one task, with the memory snapshot it must read."""
    kept = state.memory if memory is None else memory
    namespace = task.namespace
    return Scope(
        inputs=_inputs(state, task),
        vars=task_vars(state, task),
        memory=Prefixed(kept, namespace) if namespace else kept,
        tasks=Prefixed(state.outputs, namespace) if namespace else state.outputs,
    )


def task_vars(state: RunState, task: PlanTask) -> JsonObject:
    """Return a task's variables: document layers, invocation overrides, engine bindings."""
    overrides = state.run.vars
    expansion = task.expansion
    if not overrides and expansion is None:
        return task.vars
    merged = {**task.vars, **overrides}
    if expansion is not None:
        merged.update(expansion.binding)
        if task.previous is not None:
            merged["loopPrevious"] = state.outputs[task.previous]["output"]
    return merged


def namespace_scope(state: RunState, namespace: str, inputs_from: str | None) -> Scope:
    """Return the scope in which a workflow's or sub-workflow's outputs are rendered."""
    declared = cast("JsonObject", state.plan.definitions.get("vars") or {})
    inputs = state.outputs[inputs_from]["output"] if inputs_from else state.run.inputs
    return Scope(
        inputs=cast("JsonObject", inputs),
        vars={**declared, **state.run.vars},
        memory=Prefixed(state.memory, namespace) if namespace else state.memory,
        tasks=Prefixed(state.outputs, namespace) if namespace else state.outputs,
    )


def _inputs(state: RunState, task: PlanTask) -> JsonObject:
    if task.inputs_from is None:
        return state.run.inputs
    return cast("JsonObject", state.outputs[task.inputs_from]["output"])
