"""Random workflows of up to 12 tasks, whose every value follows from what reached it.

Below the property tests. A function gives back a digest of what it was given, so that two runs have
the same outputs only if the same values reached the same tasks in both.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias

from attr import define, evolve, field
from hypothesis import strategies as st

from agentctl import EffectError, Engine
from agentctl.jsonvalue import digest
from agentctl.testing import FixedEntropy, ManualClock
from tests.engine.harness import workflow

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentctl import RunOutcome
    from agentctl.engine.records import Idempotency

TASKS_MAX = 12
KEYS = ("k0", "k1")

Kind: TypeAlias = Literal["call", "once", "remember", "recall", "each", "again", "route"]
Reads: TypeAlias = Literal["", "k0", "k1"]
CALLING: tuple[Kind, ...] = ("call", "once", "each", "again")
KINDS: tuple[Kind, ...] = (*CALLING, "call", "remember", "remember", "recall", "route")


@define(frozen=True)
class Step:
    """One task before it is a document: what it does, and what it depends on and reads."""

    name: str
    kind: Kind
    needs: tuple[str, ...]
    reads: Reads
    when: str | None
    constant: int
    goes_on: bool

    @property
    def touches_memory(self) -> bool:
        """Whether the order among others like it counts."""
        memory = self.when is not None and "memory." in self.when
        return memory or bool(self.reads) or self.kind in ("remember", "recall")


@define(frozen=True)
class Shape:
    """A workflow before it is a document."""

    steps: tuple[Step, ...]
    together: int
    flag: bool
    pick: int

    def document(self) -> dict[str, Any]:
        """Return the workflow."""
        return workflow(
            *self._tasks(),
            inputs={"pick": self.pick},
            vars={"flag": self.flag},
            memory={"working": dict.fromkeys(KEYS, 0)},
            outputs={key: f"${{{{ memory.{key} }}}}" for key in KEYS},
            runtime={"maxConcurrency": self.together},
        )

    def calling(self) -> list[str]:
        """Return the names that calls of functions have."""
        made = []
        for one in self.steps:
            if one.kind in ("each", "again"):
                made += [f"{one.name}-{number}" for number in range(2)]
            elif one.kind in CALLING:
                made.append(one.name)
        return made

    def _tasks(self) -> Iterator[dict[str, Any]]:
        routers = {one.name for one in self.steps if one.kind == "route"}
        last_memory: set[str] = set()
        for one in self.steps:
            needs = set(one.needs)
            if one.touches_memory and self.together > 1:
                # Which of two tasks reads or writes first must not be chance.
                needs |= last_memory
                last_memory = {one.name}
            task: dict[str, Any] = {"id": one.name, "needs": sorted(needs)}
            if one.goes_on:
                task["failure"] = "continue"
            if one.when is not None and one.kind != "again":
                task["when"] = one.when
            yield {**task, **self._does(one, sorted(needs), routers)}

    def _does(self, one: Step, needs: list[str], routers: set[str]) -> dict[str, Any]:
        given: dict[str, Any] = {need: f"${{{{ tasks.{need}.output }}}}" for need in needs}
        given |= {"constant": one.constant}
        if one.reads:
            given["memory"] = f"${{{{ memory.{one.reads} }}}}"
        key = KEYS[one.constant % 2]
        match one.kind:
            case "remember":
                return {"uses": "action:remember", "with": {"key": key, "value": given}}
            case "recall":
                return {"uses": "action:recall", "with": {"key": key}}
            case "route":
                return self._route(one, routers)
            case "each":
                name = f"{one.name}-${{{{ vars.item }}}}"
                call = {"uses": "action:work", "with": {"name": name, "given": given}}
                return {**call, "foreach": {"items": [0, 1]}}
            case "again":
                name = f"{one.name}-${{{{ vars.loopIndex }}}}"
                given["before"] = "${{ vars.loopPrevious }}"
                loop = {"maxIterations": 3, "while": "${{ vars.loopIndex < 2 }}"}
                call = {"uses": "action:work", "with": {"name": name, "given": given}}
                return {**call, "loop": loop}
            case _:
                uses = "action:once" if one.kind == "once" else "action:work"
                return {"uses": uses, "with": {"name": one.name, "given": given}}

    def _route(self, one: Step, routers: set[str]) -> dict[str, Any]:
        """Route to everything that needs this router alone."""
        fed = [each for each in self.steps if one.name in each.needs]
        ends = [each.name for each in fed if not (routers - {one.name}) & set(each.needs)]
        if not ends:
            return {"uses": "action:assign", "with": {"nowhere": True}}
        cases = [{"equals": place, "tasks": [name]} for place, name in enumerate(ends[:2])]
        return {
            "uses": "router",
            "route": {"select": "${{ inputs.pick }}", "cases": cases, "default": ends[2:]},
        }


@st.composite
def shapes(draw: st.DrawFn) -> Shape:
    """Return a random workflow."""
    steps: list[Step] = []
    for number in range(draw(st.integers(1, TASKS_MAX))):
        earlier = [one.name for one in steps]
        needs = (
            draw(st.lists(st.sampled_from(earlier), unique=True, max_size=3)) if earlier else []
        )
        steps.append(draw(_steps(f"t{number}", tuple(sorted(needs)))))
    return Shape(
        steps=tuple(steps),
        together=draw(st.integers(1, 3)),
        flag=draw(st.booleans()),
        pick=draw(st.integers(0, 2)),
    )


def _steps(name: str, needs: tuple[str, ...]) -> st.SearchStrategy[Step]:
    conditions = [None, None, None, "${{ vars.flag }}", "${{ memory.k0 == 0 }}"]
    return st.builds(
        Step,
        name=st.just(name),
        kind=st.sampled_from(KINDS),
        needs=st.just(needs),
        reads=st.sampled_from(["", "", "k0", "k1"]),
        when=st.sampled_from(conditions),
        constant=st.integers(0, 3),
        goes_on=st.booleans(),
    )


@st.composite
def changes(draw: st.DrawFn, shape: Shape) -> Shape:
    """Return a shape that differs: a constant, the flag, or one task more or less at the end."""
    match draw(st.sampled_from(["constant", "flag", "more", "less"])):
        case "flag":
            return evolve(shape, flag=not shape.flag)
        case "more" if len(shape.steps) < TASKS_MAX:
            needs = (shape.steps[-1].name,)
            return evolve(shape, steps=(*shape.steps, draw(_steps("more", needs))))
        case "less" if len(shape.steps) > 1:
            return evolve(shape, steps=shape.steps[:-1])
    place = draw(st.integers(0, len(shape.steps) - 1))
    steps = list(shape.steps)
    steps[place] = evolve(steps[place], constant=steps[place].constant + 1)
    return evolve(shape, steps=tuple(steps))


@define
class Bench:
    """An engine on a file of its own, and the calls that really happened."""

    fails: set[str] = field(factory=set)
    calls: list[str] = field(factory=list)
    _folder: tempfile.TemporaryDirectory[str] = field(factory=tempfile.TemporaryDirectory)
    engine: Engine = field(init=False)

    def __attrs_post_init__(self) -> None:
        """Open the engine."""
        folder = Path(self._folder.name)
        self.engine = Engine(
            folder / "state.db",
            workspace=folder,
            clock=ManualClock(),
            entropy=FixedEntropy(),
            durability="normal",
        )
        self._register("work", "idempotent")
        self._register("once", "at_most_once")

    def _register(self, name: str, idempotency: Idempotency) -> None:
        @self.engine.action(name, idempotency=idempotency, runs_in="loop")
        def work(name: str, given: dict[str, Any]) -> dict[str, Any]:
            self.calls.append(name)
            if name in self.fails:
                raise EffectError("refused")
            return {"value": digest({"name": name, "given": given})}

    def __enter__(self) -> Self:
        """Return the bench itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the engine and remove its file."""
        self.engine.close()
        self._folder.cleanup()

    def run(self, shape: Shape) -> RunOutcome:
        """Run a workflow."""
        return self.engine.start_sync(self.engine.load(shape.document()))

    def results(self, run_id: str) -> Any:
        """Return all that a run gave: its state and output, memory, and each task's end."""
        history = self.engine.history(run_id)
        ends = {one.id: (one.state, one.output) for one in history.tasks}
        return history.run.state, history.run.output, dict(history.memory), ends
