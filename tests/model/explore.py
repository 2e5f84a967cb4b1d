"""Visit every state that the model can reach, shortest way first, and hold each to the rules.

Above: its tests, and docs/durability.md, which shows the numbers. Below: the model. `python -m tests.model.explore`
prints them.
"""

from __future__ import annotations

from collections import deque
from functools import cache
from typing import TYPE_CHECKING

from attr import define, field, frozen

from agentctl.engine.ledger import REPEATABLE
from agentctl.machines.sets import (
    EFFECT_CONFIRMED,
    EFFECT_OPEN,
    RUN_FINAL,
    TASK_FINAL,
    TASK_SATISFIED,
)
from tests.model.machine import Model
from tests.model.one_task import Rules, Task

if TYPE_CHECKING:
    from tests.model.one_task import State

FALSE_RECORD = "the ledger says what is not so"
UNFINISHED = "the run is over and something of it is not"
MOVED = "what was over moved"
TWICE = "what must happen once is in the world twice"
MISSING = "a task succeeded and its effect is not in the world"
STRANDED = "nothing leads to an end"


@frozen
class Counterexample:
    """A rule that was broken, and the shortest way there."""

    problem: str
    trace: tuple[str, ...]


@define
class Explored:
    """What a search saw."""

    states: int = 0
    transitions: int = 0
    found: Counterexample | None = None
    fired: set[tuple[str, str, str]] = field(factory=set)


@define
class Search:
    """A breadth-first search; `parents` leads back to the initial state."""

    rules: Rules
    model: Model = field(init=False)
    numbers: dict[State, int] = field(factory=dict)
    parents: list[tuple[int, str]] = field(factory=list)
    # The states that lead to each one without a cancellation, to look back from the ends.
    before: list[list[int]] = field(factory=list)
    ends: list[int] = field(factory=list)
    queue: deque[State] = field(factory=deque)
    transitions: int = 0

    def __attrs_post_init__(self) -> None:
        """Begin with a stored run."""
        self.model = Model(self.rules)

    def run(self) -> Explored:
        """Search until everything was visited or a rule is broken."""
        self._reach(self.model.initial(), 0, "")
        found = None
        while self.queue and found is None:
            found = self._visit(self.queue.popleft())
        return Explored(
            states=len(self.parents),
            transitions=self.transitions,
            found=found or self._stranded(),
            fired=self.model.fired,
        )

    def _visit(self, state: State) -> Counterexample | None:
        number = self.numbers[state]
        over = state.run in RUN_FINAL
        if over:
            self.ends.append(number)
        problem = wrong(state, self.rules)
        if problem:
            return Counterexample(problem, self._trace(number))
        for label, target, problem in self.model.moves(state):
            reached = self.model.plain(target)
            self.transitions += 1
            if over and not problem and _outcome(state) != _outcome(reached):
                problem = MOVED
            if problem:
                return Counterexample(problem, (*self._trace(number), label))
            place = self._reach(reached, number, label)
            if label != "cancel":
                self.before[place].append(number)
        return None

    def _reach(self, state: State, parent: int, label: str) -> int:
        known = self.numbers.get(state)
        if known is not None:
            return known
        self.numbers[state] = number = len(self.parents)
        self.parents.append((parent, label))
        self.before.append([])
        self.queue.append(state)
        return number

    def _trace(self, number: int) -> tuple[str, ...]:
        labels = []
        while number:
            number, label = self.parents[number]
            labels.append(label)
        return tuple(reversed(labels))

    def _stranded(self) -> Counterexample | None:
        """Return a state from which no end can be reached without a cancellation."""
        if self.queue:
            return None
        reaches = set(self.ends)
        stack = [*self.ends]
        while stack:
            for number in self.before[stack.pop()]:
                if number not in reaches:
                    reaches.add(number)
                    stack.append(number)
        for number in range(len(self.parents)):
            if number not in reaches:
                return Counterexample(STRANDED, self._trace(number))
        return None


def _outcome(state: State) -> tuple[object, ...]:
    return (state.run, *(one.state for one in state.tasks))


def wrong(state: State, rules: Rules) -> str:
    """Return what must not be in a state, or nothing."""
    for task in state.tasks:
        for one in task.effects:
            if one.state in EFFECT_CONFIRMED and not one.happened:
                return FALSE_RECORD
            # Of what may be repeated, the last answer counts.
            if one.state == "failed" and one.happened and task.kind not in REPEATABLE:
                return FALSE_RECORD
        if rules.truthful and task.kind not in REPEATABLE:
            there = sum(one.happened for one in task.effects)
            if there > 1:
                return TWICE
            if task.state in TASK_SATISFIED and not there and not _undone(task):
                return MISSING
    if state.run in RUN_FINAL:
        effects = (one for task in state.tasks for one in task.effects)
        if any(one.state in EFFECT_OPEN for one in effects) or any(
            task.state not in TASK_FINAL for task in state.tasks
        ):
            return UNFINISHED
    return ""


def _undone(task: Task) -> bool:
    """Return whether a task's effect was taken back after the task had used it."""
    return any(one.note == "compensated" for one in task.effects)


# Two owners everywhere; two attempts and two requests of each task where nothing else is said.
LARGEST = "3 tasks, two of them at a time"
SCOPES: dict[str, Rules] = {
    "1 task that may ask three times": Rules(kinds=("at_most_once",), effects=3),
    "2 tasks, whatever an operator finds": Rules(kinds=("at_most_once",) * 2),
    "2 tasks, an operator who finds what is true": Rules(
        kinds=("at_most_once",) * 2, truthful=True
    ),
    "2 tasks, one keyed and one idempotent": Rules(kinds=("idempotent", "keyed")),
    LARGEST: Rules(kinds=("at_most_once",) * 3, width=2),
    "3 tasks in a chain": Rules(kinds=("at_most_once",) * 3, chained=True),
    "3 tasks in a chain, of which the middle one is keyed and a failure stops nothing": Rules(
        kinds=("at_most_once", "keyed", "at_most_once"), chained=True, stops=False
    ),
}


@cache
def explore(rules: Rules) -> Explored:
    """Search everything that the rules allow."""
    return Search(rules).run()


@cache
def edges() -> frozenset[tuple[str, str, str]]:
    """Return every move of the real tables that the small scopes make."""
    small = (rules for name, rules in SCOPES.items() if name != LARGEST)
    return frozenset().union(*(explore(rules).fired for rules in small))


def row(name: str, states: int, transitions: int) -> str:
    """Return the numbers of one search as a row of a page."""
    return f"| {name} | {states:,} | {transitions:,} |"


if __name__ == "__main__":
    for place, given in SCOPES.items():
        print(row(place, explore(given).states, explore(given).transitions))
