"""A declared migration of working memory: what a derived run takes over, in its workflow's form.

Above: the planner and `derive`. Below: the evidence. A repair applies `spec.memory.migrate` to
what its source had, where the source's own workflow declared another one or none. A run that
comes of a migrated run, under the same declaration, begins with the migrated memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from attr import evolve, field, frozen

from agentctl.engine.recovery.evidence import initial_memory, memory_delta
from agentctl.engine.recovery.rules import Blocked
from agentctl.suggest import did_you_mean
from agentctl.value import Value

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from agentctl.engine.plan import Plan, PlanTask
    from agentctl.engine.records import TaskRecord, Transition
    from agentctl.engine.recovery.rules import Rule
    from agentctl.jsonvalue import JsonObject, JsonValue

_PLACE = "spec.memory.migrate"
_EVENT = "migrate_memory"


@frozen(kw_only=True, eq=False, repr=False)
class Migrated(Value):
    """A migration with its result; `earlier` are the reused tasks that came before it.

    `begin` is what these began with, and `memory` what there is right after the migration.
    """

    keys: tuple[JsonObject, ...]
    begin: JsonObject
    memory: JsonObject
    earlier: frozenset[str]
    carried: bool
    blocked: tuple[Blocked, ...] = ()

    def to_json(self) -> JsonObject:
        """Return the public form: each key with its value before and after, where it had one."""
        return {"carried": self.carried, "keys": list(self.keys)}

    def to_detail(self) -> JsonObject:
        """Return what the journal keeps: also the whole memory before the tasks and after."""
        return {**self.to_json(), "begin": self.begin, "memory": self.memory}


@frozen(kw_only=True, eq=False, repr=False)
class MemoryTurn(Value):
    """How memory gets from a source to a run of `target`.

    `began` is what the source began with. `had` is the same, or what it had after its own
    migration, which the tasks `earlier` came before. `begin` is what the new run begins with:
    until its migration, a key that this renames or drops is as the source had it.
    """

    target: Plan
    began: JsonObject
    had: JsonObject
    begin: JsonObject
    declared: JsonObject | None = None
    told: JsonObject | None = None
    earlier: frozenset[str] = field(default=frozenset())

    @classmethod
    def of(
        cls, source: Plan, target: Plan, journal: Sequence[tuple[int, Transition]]
    ) -> MemoryTurn:
        """Return the turn that two plans and the source's journal ask for."""
        declared = _declared(target)
        begin = initial_memory(target)
        told, earlier = migration_of(journal)
        began = had = initial_memory(source)
        if told is not None:
            began = cast("JsonObject", told["begin"])
            had = cast("JsonObject", told["memory"])
        turn = cls(target=target, began=began, had=had, begin=begin, earlier=earlier)
        if declared is None:
            return evolve(turn, earlier=frozenset())
        if declared == _declared(source):
            return turn if told is None else evolve(turn, begin=had, told=told)
        kept = {key: had[key] for key in _gone(declared) if key in had}
        return evolve(turn, begin={**begin, **kept}, declared=declared)

    def without(self) -> MemoryTurn:
        """Return the turn of a run that begins at the start: it takes nothing over."""
        begin = initial_memory(self.target)
        return evolve(self, begin=begin, declared=None, told=None, earlier=frozenset())

    def delta(self, task: PlanTask, recorded: TaskRecord) -> JsonObject:
        """Return what a task that is taken over wrote, unless a migration took it up already."""
        if task.id in self.earlier:
            return {}
        return memory_delta(self.target, task, recorded.output)

    def migrated(self, written: JsonObject, reused: Sequence[str]) -> Migrated | None:
        """Return the migration of what a plan takes over; None without one.

        `written` is what the tasks that are taken over wrote, as `delta` says it.
        """
        if self.told is not None:
            return Migrated(
                keys=tuple(cast("list[JsonObject]", self.told["keys"])),
                begin=cast("JsonObject", self.told["begin"]),
                memory=self.begin,
                earlier=self.earlier.intersection(reused),
                carried=True,
            )
        if self.declared is None:
            return None
        return self._applied(self.declared, written, reused)

    def _applied(
        self, declared: JsonObject, written: JsonObject, reused: Sequence[str]
    ) -> Migrated:
        before = {**self.had, **written}
        renames = cast("dict[str, str]", declared["rename"])
        gone = _gone(declared)
        after = {
            **initial_memory(self.target),
            **{key: value for key, value in written.items() if key not in gone},
            **{new: before[old] for old, new in renames.items() if old in before},
            **cast("JsonObject", declared["set"]),
        }
        problems = _key_problems(declared, self.target, before)
        return Migrated(
            keys=tuple(_rows(before, after)),
            begin=self.begin,
            memory=after,
            earlier=frozenset(reused),
            carried=False,
            blocked=(*problems, *_schema_problems(declared, after)),
        )


def _gone(declared: JsonObject) -> set[str]:
    """Return the keys that a migration renames or drops."""
    return {*cast("JsonObject", declared["rename"]), *cast("list[str]", declared["drop"])}


def _rows(before: JsonObject, after: JsonObject) -> Iterator[JsonObject]:
    """Yield every key of either side with its value on each side that has it."""
    for key in sorted({*before, *after}):
        row: JsonObject = {"key": key}
        for name, side in (("before", before), ("after", after)):
            if key in side:
                row[name] = side[key]
        yield row


def _key_problems(declared: JsonObject, target: Plan, before: JsonObject) -> Iterator[Blocked]:
    renames = cast("dict[str, str]", declared["rename"])
    drops = cast("list[str]", declared["drop"])
    given = cast("JsonObject", declared["set"])
    known = {*initial_memory(target)}
    known.update(key for task in target.tasks.values() for key in task.memory_writes)
    taken = (set(before) - _gone(declared)) | set(given)
    for old, new in renames.items():
        place = f"rename.{old}"
        if old not in before:
            yield _unknown(place, old, before, "the source's memory")
        if new not in known:
            yield _unknown(place, new, known, "this workflow's memory")
        if new in taken:
            yield _blocked(place, "memory_key_collision", f"{new!r} has another value already")
        taken.add(new)
    for position, key in enumerate(drops):
        place = f"drop[{position}]"
        if key not in before:
            yield _unknown(place, key, before, "the source's memory")
        if key in renames or key in given:
            yield _blocked(place, "memory_key_collision", f"{key!r} is also renamed or set")
    for key in given:
        if key not in known:
            yield _unknown(f"set.{key}", key, known, "this workflow's memory")


def _schema_problems(declared: JsonObject, after: JsonObject) -> Iterator[Blocked]:
    schema = declared["schema"]
    if schema is None:
        return
    from agentctl.engine.schema_check import validate

    for one in validate(after, schema):
        yield _blocked("schema", "memory_schema_mismatch", one)


def _unknown(
    place: str, key: str, known: Mapping[str, JsonValue] | set[str], where: str
) -> Blocked:
    near = did_you_mean(key, known)
    told = f"{where} has no key {key!r}" + (f"; {near}" if near else "")
    return _blocked(place, "memory_key_unknown", told)


def _blocked(place: str, rule: Rule, told: str) -> Blocked:
    return Blocked(None, rule, f"{_PLACE}.{place}", told)


def _declared(plan: Plan) -> JsonObject | None:
    memory = cast("JsonObject", plan.definitions["memory"])
    return cast("JsonObject | None", memory.get("migrate"))


def migration_view(journal: Sequence[tuple[int, Transition]]) -> JsonObject | None:
    """Return what a run's migration of memory did, as `inspect` shows it; None without one."""
    told, _ = migration_of(journal)
    return None if told is None else {key: told[key] for key in ("carried", "keys")}


def migration_of(
    journal: Sequence[tuple[int, Transition]],
) -> tuple[JsonObject | None, frozenset[str]]:
    """Return what a run's own migration told, and the tasks that were taken over before it."""
    earlier: set[str] = set()
    for _, move in journal:
        if move.machine == "run" and move.event == _EVENT:
            return cast("JsonObject", move.detail), frozenset(earlier)
        if move.machine == "task" and move.event == "reuse":
            earlier.add(move.entity)
    return None, frozenset()
