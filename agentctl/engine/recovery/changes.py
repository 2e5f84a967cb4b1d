"""What another version of a workflow would do differently: two plans, task by task.

Above: resuming, and the door. Below: plans and fingerprints. Only what can change a run counts:
comments, layout, descriptions and definitions that no task uses never reach the comparison.
Source: specification, section 9.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, Final, Literal, cast

from attr import frozen

from agentctl.engine.recovery.fingerprint import definition_of, fingerprint
from agentctl.jsonvalue import canonical
from agentctl.machines.sets import TASK_SATISFIED
from agentctl.value import Value

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from agentctl.engine.plan import Plan
    from agentctl.engine.records import TaskRecord
    from agentctl.jsonvalue import JsonObject, JsonValue

Change = Literal["changed", "inserted", "removed", "reordered"]

# Tasks show the definitions that they use; the rest of a plan follows from the others.
_BY_TASK: Final = frozenset({"actions", "agents", "providers", "tools"})
_VALUE_MAX: Final = 60
_DERIVED: Final = frozenset({"id", "predictability"})


@frozen(eq=False, repr=False)
class Difference(Value):
    """One place where two plans differ; null stands for what is not there."""

    place: str
    recorded: JsonValue
    now: JsonValue

    def to_json(self) -> JsonObject:
        """Return the public form."""
        return {"place": self.place, "recorded": self.recorded, "now": self.now}


@frozen(eq=False, repr=False)
class TaskChange(Value):
    """What became of one task; a task that moved and changed is told twice."""

    task_id: str
    change: Change
    differences: tuple[Difference, ...] = ()

    def to_json(self) -> JsonObject:
        """Return the public form."""
        return {
            "taskId": self.task_id,
            "change": self.change,
            "differences": [one.to_json() for one in self.differences],
        }


@frozen(eq=False, repr=False)
class PlanChanges(Value):
    """All that differs between a recorded plan and the one of now."""

    tasks: tuple[TaskChange, ...] = ()
    parts: tuple[Difference, ...] = ()

    def __bool__(self) -> bool:
        """Whether anything differs."""
        return bool(self.tasks or self.parts)


UNCHANGED: Final = PlanChanges()


def compare_plans(recorded: Plan, now: Plan) -> PlanChanges:
    """Return every task and every shared part in which two plans differ."""
    if recorded.plan_digest == now.plan_digest:
        return UNCHANGED
    then, facts = _facts(recorded), _facts(now)
    tasks = (
        *_present(then, facts),
        *_moved(recorded.order, now.order),
        *(
            TaskChange(one, "removed", (Difference("", then[one], None),))
            for one in recorded.order
            if one not in facts
        ),
    )
    return PlanChanges(tasks, tuple(differences(_parts(recorded), _parts(now))))


def differences(recorded: JsonValue, now: JsonValue, place: str = "") -> Iterator[Difference]:
    """Yield the places, as deep as both sides are objects, where two values differ."""
    if isinstance(recorded, dict) and isinstance(now, dict):
        for key in (*recorded, *(one for one in now if one not in recorded)):
            inner = f"{place}.{key}" if place else key
            yield from differences(recorded.get(key), now.get(key), inner)
    elif recorded != now or type(recorded) is not type(now):
        yield Difference(place, recorded, now)


def first_roots(
    recorded: Plan, now: Plan, tasks: Mapping[str, TaskRecord]
) -> tuple[list[str], bool]:
    """Return where a repair would begin, and whether one of these succeeded already.

    These are the tasks that are new or ask for other work, without those that follow from
    another of them; where there is none, the first that gave no output yet.
    """
    other = {one for one in now.order if _asks_otherwise(recorded, now, one)}
    if not other:
        other = {one for one in now.order if not _is_satisfied(tasks, one)}
    reached: set[str] = set()
    roots = []
    for task_id in now.order:
        task = now.tasks[task_id]
        if reached.intersection((*task.needs, *task.route_guards)):
            reached.add(task_id)
        elif task_id in other:
            roots.append(task_id)
            reached.add(task_id)
    return roots, any(_is_satisfied(tasks, one) for one in roots)


def tell(one: Difference) -> str:
    """Return one difference in words, with long values cut."""
    return f"{one.place}: recorded {_short(one.recorded)}, now {_short(one.now)}"


def _asks_otherwise(recorded: Plan, now: Plan, task_id: str) -> bool:
    then = recorded.tasks.get(task_id)
    if then is None:
        return True
    return fingerprint(recorded, then) != fingerprint(now, now.tasks[task_id])


def _is_satisfied(tasks: Mapping[str, TaskRecord], task_id: str) -> bool:
    return task_id in tasks and tasks[task_id].state in TASK_SATISFIED


def _present(
    recorded: Mapping[str, JsonObject], now: Mapping[str, JsonObject]
) -> Iterator[TaskChange]:
    """Yield the tasks of now that are new, or that differ from the recorded ones."""
    for task_id, facts in now.items():
        if task_id not in recorded:
            yield TaskChange(task_id, "inserted", (Difference("", None, facts),))
        elif found := tuple(differences(recorded[task_id], facts)):
            yield TaskChange(task_id, "changed", found)


def _facts(plan: Plan) -> dict[str, JsonObject]:
    """Return each task as it runs, in compiled order: its settings, and all that it names."""
    bodies = cast("dict[str, JsonObject]", plan.to_json()["tasks"])
    actions = cast("JsonObject", plan.definitions["actions"])
    found = {}
    for task_id in plan.order:
        task = plan.tasks[task_id]
        facts = {key: value for key, value in bodies[task_id].items() if key not in _DERIVED}
        facts["definition"] = definition_of(plan, task)
        if task.compensate is not None:
            facts["inverse"] = actions[task.compensate.uses]
        found[task_id] = facts
    return found


def _parts(plan: Plan) -> JsonObject:
    """Return what all tasks share."""
    shared = {key: value for key, value in plan.definitions.items() if key not in _BY_TASK}
    return {"name": plan.workflow_name, **shared}


def _moved(recorded: Sequence[str], now: Sequence[str]) -> list[TaskChange]:
    """Return the fewest tasks whose move explains the new order, with both places from 1."""
    then = {task_id: place for place, task_id in enumerate(recorded)}
    common = [one for one in now if one in then]
    stayed = _longest_rising([then[one] for one in common])
    current = {task_id: place for place, task_id in enumerate(now)}
    return [
        TaskChange(one, "reordered", (Difference("position", then[one] + 1, current[one] + 1),))
        for one in common
        if then[one] not in stayed
    ]


def _longest_rising(places: Sequence[int]) -> set[int]:
    """Return the values of a longest rising subsequence (patience sorting)."""
    tails: list[int] = []
    before: dict[int, int | None] = {}
    for place in places:
        pile = bisect_left(tails, place)
        before[place] = tails[pile - 1] if pile else None
        tails[pile : pile + 1] = [place]
    found: set[int] = set()
    last = tails[-1] if tails else None
    while last is not None:
        found.add(last)
        last = before[last]
    return found


def _short(value: JsonValue) -> str:
    text = canonical(value)
    return text if len(text) <= _VALUE_MAX else f"{text[: _VALUE_MAX - 1]}…"
