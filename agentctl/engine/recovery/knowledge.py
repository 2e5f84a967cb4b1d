"""What is sure about a derived run before it begins, task by task in compiled order.

Above: the planner. Below: the decisions that the scheduler itself takes, on a working set that holds
what serves again. A task that runs again leaves its output and the memory that it may write
unknown, and nothing that could have read them is sure any more.
Source: specification, section 9.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from attr import define, field

from agentctl.engine.decide import Skip, loop_of, verdict
from agentctl.engine.programs import action_kind
from agentctl.engine.recovery.evidence import MEMORY_ACTIONS
from agentctl.engine.template import parse_condition, placed_references
from agentctl.errors import AgentctlError
from agentctl.machines.names import TaskStates

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from agentctl.engine.plan import Plan, PlanTask
    from agentctl.engine.records import IterationRecord, TaskRecord
    from agentctl.engine.state import RunState
    from agentctl.jsonvalue import JsonObject, JsonValue

# Their ends follow from the ends of their children alone.
_GATHERING = frozenset({"aggregate", "loop_aggregate"})
ANY_KEY = "*"
"""Stands for a key of working memory that only the run itself will know."""


@define(eq=False, repr=False)
class Knowledge:
    """The working set `after`, which holds what is sure, and the names of what is not.

    `memory` is what the next task would read, at first what the run begins with, without the keys that are unknown. `touched` are
    the keys that tasks which run again may read or write.
    """

    after: RunState
    iterations: Mapping[str, IterationRecord]
    memory: JsonObject
    unsure: set[str] = field(factory=set)
    unknown: set[str] = field(factory=set)
    touched: set[str] = field(factory=set)

    def __attrs_post_init__(self) -> None:
        """Let the working set read the memory."""
        self._know(self.memory)

    @property
    def plan(self) -> Plan:
        """The target."""
        return self.after.plan

    def is_led_to(self, task: PlanTask) -> bool:
        """Return whether something that is not sure leads to a task."""
        return not self.unsure.isdisjoint((*task.needs, *task.route_guards))

    def forget(self, task: PlanTask) -> None:
        """Let a task run again: its output and what it may write are unknown from here on."""
        self.unsure.add(task.id)
        self.unknown.update(task.memory_writes)
        self._touch(task)
        self._know(self.memory)

    def take(self, task: PlanTask, recorded: TaskRecord, delta: JsonObject) -> None:
        """Let a task's recorded output stand, and with it the `delta` it made to memory."""
        self._stand(task, recorded)
        self.unknown.difference_update(delta)
        self._know({**self.memory, **delta})

    def skip(self, task: PlanTask, recorded: TaskRecord) -> None:
        """Let a task be skipped again, which its condition is asked about again at its time."""
        self._touch(task)
        self._stand(task, recorded)

    def repeats(self, task: PlanTask) -> bool:
        """Return whether a task has to write its memory at its own time, and so runs again.

        What serves again is in memory from the start. That would be too early for a task before
        it that runs again and reads the same key, and the wrong order for one that writes it.
        """
        writes = set(task.memory_writes)
        return bool(writes) and (ANY_KEY in self.touched or not writes.isdisjoint(self.touched))

    def repeat(self, task: PlanTask, recorded: TaskRecord, delta: JsonObject) -> None:
        """Let a task run again whose output is known all the same."""
        self._touch(task)
        self.take(task, recorded, delta)

    def would_start(self, task: PlanTask) -> bool:
        """Return whether a task would surely start, and not be skipped."""
        try:
            return verdict(self.after, task) is None
        except (AgentctlError, KeyError):
            return False

    def ends_again(self, task: PlanTask, recorded: TaskRecord, *, is_same: bool) -> bool:
        """Return whether a task without an output will surely end the same way again.

        An aggregate of what is sure does, if its definition `is_same`; and what was skipped, if
        it would be for the same reason.
        """
        if task.uses_kind in _GATHERING:
            return is_same and recorded.state != TaskStates.cancelled
        if recorded.state != TaskStates.skipped:
            return False
        try:
            found = verdict(self.after, task)
        except (AgentctlError, KeyError):
            return False
        return isinstance(found, Skip) and found.output == recorded.output

    def _stand(self, task: PlanTask, recorded: TaskRecord) -> None:
        self.after.tasks[task.id] = recorded
        self.after.outputs[task.id] = {"output": recorded.output}
        if task.id in self.iterations:
            self.after.iterations[task.id] = self.iterations[task.id]

    def _know(self, memory: JsonObject) -> None:
        self.memory = {key: memory[key] for key in memory if key not in self.unknown}
        self.after.memory = self.memory

    def _touch(self, task: PlanTask) -> None:
        self.touched.update(task.memory_writes)
        self.touched.update(self._read_by(task))

    def _read_by(self, task: PlanTask) -> Iterator[str]:
        """Yield the keys that a task may read: in templates, conditions and as a memory action."""
        found, _ = placed_references([task.input, self._instructions(task)])
        paths = [one.path for one in found]
        loop = loop_of(self.after, task)
        conditions = [task.when, None if loop is None else cast("str", loop["condition"])]
        paths += [parse_condition(one, allow_loop=True).path for one in conditions if one]
        for path in paths:
            if path[0] == "memory":
                yield f"{task.namespace}{path[1]}"
        key = self._key(task)
        if key is not None:
            is_known = isinstance(key, str) and "${{" not in key
            yield f"{task.namespace}{key}" if is_known else ANY_KEY

    def _key(self, task: PlanTask) -> JsonValue:
        """Return the key that a memory action names, as written; None for any other task."""
        if task.uses_kind != "action":
            return None
        kind = action_kind(self.plan, cast("str", task.uses_name))
        return task.input.get("key") if kind in MEMORY_ACTIONS else None

    def _instructions(self, task: PlanTask) -> JsonValue:
        if task.uses_kind != "agent":
            return None
        agents = cast("dict[str, JsonObject]", self.plan.definitions["agents"])
        return agents[cast("str", task.uses_name)].get("instructions")
