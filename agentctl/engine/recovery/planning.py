"""Plan a derived run: for each task the proof that its output serves again, or why it must run.

Above: retry, repair and fork. Below: fingerprints and evidence. Planning dispatches nothing and
stores nothing.
Source: specification, section 9.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from attr import define, field, frozen

from agentctl.engine.finish import unsettled
from agentctl.engine.kinds import MUTATING
from agentctl.engine.ledger import may_repeat
from agentctl.engine.recovery.evidence import (
    initial_memory,
    memory_seen,
    resolved_digest,
)
from agentctl.engine.recovery.fingerprint import fingerprint
from agentctl.engine.recovery.knowledge import Knowledge
from agentctl.engine.recovery.memory import MemoryTurn, Migrated
from agentctl.engine.recovery.rules import Blocked, Rule
from agentctl.engine.state import state_from_history
from agentctl.machines.names import TaskStates
from agentctl.machines.sets import (
    EFFECT_CONFIRMED,
    EFFECT_OPEN,
    RECONCILIATION_ABSENT,
    TASK_SATISFIED,
)
from agentctl.value import Value

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from agentctl.engine.plan import Plan, PlanTask
    from agentctl.engine.records import EffectRecord, RunHistory, TaskRecord, Transition
    from agentctl.engine.state import RunState
    from agentctl.jsonvalue import JsonObject, JsonValue


@frozen(kw_only=True, eq=False, repr=False)
class Boundary(Value):
    """Where a derived run begins: task names, or everything that failed.

    `restart_successful` acknowledges that a root which succeeded runs again. `everything` begins
    at the start, and with `fresh_effects` effects are meant to happen again, confirmed or not.
    """

    roots: tuple[str, ...] = ()
    failed_only: bool = False
    restart_successful: bool = False
    everything: bool = False
    fresh_effects: bool = False


@define(eq=False, repr=False)
class RecoveryPlan:
    """What a derived run takes over and what it runs; `memory` is what it begins with."""

    source_run_id: str
    boundary: Boundary
    roots: list[str] = field(factory=list)
    reused: list[str] = field(factory=list)
    rerun: list[str] = field(factory=list)
    new: list[str] = field(factory=list)
    removed: list[str] = field(factory=list)
    changed: list[str] = field(factory=list)
    blocked: list[Blocked] = field(factory=list)
    memory: JsonObject = field(factory=dict)
    migration: Migrated | None = None
    estimates: dict[str, int] = field(factory=dict)

    @property
    def compatible(self) -> bool:
        """Whether nothing stands against the plan."""
        return not self.blocked

    def to_json(self) -> JsonObject:
        """Return the public form of `--plan`."""
        listed: list[JsonValue] = [one.to_json() for one in self.blocked]
        return {
            "sourceRunId": self.source_run_id,
            "compatible": self.compatible,
            "failedOnly": self.boundary.failed_only,
            "roots": list(self.roots),
            "retryRoots": list(self.roots),
            "reusedTasks": list(self.reused),
            "rerunTasks": list(self.rerun),
            "newTasks": list(self.new),
            "removedTasks": list(self.removed),
            "changedTasks": list(self.changed),
            "blockedReuse": listed,
            "memoryMigration": None if self.migration is None else self.migration.to_json(),
            "estimatedProviderTasks": self.estimates.get("providerTasks", 0),
            "estimatedEffects": self.estimates.get("effects", 0),
            "estimatedApprovals": self.estimates.get("approvals", 0),
            "warnings": [],
        }


@define(eq=False, repr=False)
class Planner:
    """Plans over one source and one target; `damaged` are digests of unusable artifacts."""

    source: RunHistory
    journal: Sequence[tuple[int, Transition]]
    source_plan: Plan
    target: Plan
    boundary: Boundary
    damaged: frozenset[str] = frozenset()
    made: RecoveryPlan = field(init=False)
    before: RunState = field(init=False)
    known: Knowledge = field(init=False)
    seen: dict[str, JsonObject] = field(init=False)
    turn: MemoryTurn = field(init=False)
    written: JsonObject = field(factory=dict, init=False)

    def __attrs_post_init__(self) -> None:
        """Build both working sets."""
        self.made = RecoveryPlan(self.source.run.id, self.boundary)
        self.before = state_from_history(self.source, self.source_plan)
        self.turn = MemoryTurn.of(self.source_plan, self.target, self.journal)
        if self.boundary.everything:
            self.turn = self.turn.without()
        self.seen = memory_seen(self.before, self.journal, self.turn.began)
        fresh = _fresh_state(self.source, self.target)
        self.known = Knowledge(fresh, self.before.iterations, self.turn.begin)

    def plan(self) -> RecoveryPlan:
        """Return the plan, compatible or not."""
        made = self.made
        recorded = {task.id: task for task in self.source.tasks}
        made.removed = [one for one in self.source_plan.order if one not in self.target.tasks]
        made.new = [one for one in self.target.order if one not in recorded]
        made.changed = [
            one for one in self.target.order if one in recorded and self._has_changed(one)
        ]
        roots = self._roots(recorded)
        for task_id in self.target.order:
            self._place(self.target.tasks[task_id], recorded.get(task_id), roots)
        self._migrate()
        if not self.boundary.fresh_effects:
            self._check_effects(set(made.rerun))
        made.estimates = _estimates(self.target, made.rerun)
        return made

    def _roots(self, recorded: dict[str, TaskRecord]) -> set[str]:
        """Return the tasks that the caller wants to run again; a parent means its children."""
        if self.boundary.everything:
            return set(self.target.order)
        if self.boundary.failed_only:
            failed = [one.id for one in self.source.tasks if one.state == TaskStates.failed]
            self.made.roots = _outermost(self.target, failed)
            return set(failed)
        self.made.roots = list(self.boundary.roots)
        roots: set[str] = set()
        for name in self.boundary.roots:
            meant = _meant_by(self.target, name)
            if not meant:
                self._block(name, "repair_root_missing")
            happy = [one for one in meant if one in recorded and _satisfied(recorded[one])]
            knows = self.boundary.restart_successful or self.boundary.fresh_effects
            if happy and len(happy) == len(meant) and not knows:
                self._block(name, "successful_root_requires_acknowledgement")
            roots.update(meant)
        return roots

    def _place(self, task: PlanTask, recorded: TaskRecord | None, roots: set[str]) -> None:
        """Take a task over, or run it again with all that depends on it in any way."""
        made, known = self.made, self.known
        if task.id in roots or known.is_led_to(task):
            made.rerun.append(task.id)
            known.forget(task)
        elif recorded is None:
            self._block(task.id, "new_task_outside_repair_closure")
            known.forget(task)
        elif _satisfied(recorded):
            self._prove(task, recorded)
        else:
            # It gave nothing that could serve again: it is decided on anew.
            made.rerun.append(task.id)
            is_same = not self._has_changed(task.id)
            if known.ends_again(task, recorded, is_same=is_same):
                known.skip(task, recorded)
            else:
                known.forget(task)

    def _prove(self, task: PlanTask, recorded: TaskRecord) -> None:
        """Take a task's output over, or say which rule forbids it."""
        made = self.made
        rule = self._broken_rule(task, recorded)
        delta = self.turn.delta(task, recorded)
        if rule is not None:
            self._block(task.id, rule)
        if rule is None and self.known.repeats(task):
            made.rerun.append(task.id)
            self.known.repeat(task, recorded, delta)
            return
        made.reused.append(task.id)
        self.written.update(delta)
        self.known.take(task, recorded, delta)

    def _migrate(self) -> None:
        """Settle the memory that the run begins with, migrated where that is declared."""
        made, turn = self.made, self.turn
        made.memory = {**turn.begin, **self.written}
        made.migration = turn.migrated(self.written, made.reused)
        if made.migration is not None:
            made.blocked += made.migration.blocked
            if not made.migration.carried:
                made.memory = made.migration.memory

    def _broken_rule(self, task: PlanTask, recorded: TaskRecord) -> Rule | None:
        if self._has_changed(task.id):
            return "definition_fingerprint_mismatch"
        then = resolved_digest(
            self.before, self.source_plan.tasks[task.id], self.seen.get(task.id, {})
        )
        now = resolved_digest(self.known.after, task, self._memory_now(task))
        if then is None or then != now or not self.known.would_start(task):
            return "resolved_input_digest_mismatch"
        if not _fits(recorded.output, task.output_schema):
            return "output_contract_mismatch"
        kept = (one.digest for one in self.source.artifacts if one.task_id == task.id)
        if self.damaged.intersection(kept):
            return "artifact_integrity"
        return None

    def _memory_now(self, task: PlanTask) -> JsonObject:
        """Return the memory that a task would read: the same where it came before a migration."""
        if task.id not in self.turn.earlier:
            return self.known.memory
        seen = self.seen.get(task.id, {})
        return {key: seen[key] for key in seen if key not in self.known.unknown}

    def _has_changed(self, task_id: str) -> bool:
        then = fingerprint(self.source_plan, self.source_plan.tasks[task_id])
        return then != fingerprint(self.target, self.target.tasks[task_id])

    def _check_effects(self, rerun: set[str]) -> None:
        """Refuse what is in doubt, and what would change the world a second time."""
        settled = {one.effect_name: one for one in self.source.reconciliations}
        doubtful = set(unsettled(self.source.effects, settled))
        for effect in self.source.effects:
            found = settled.get(effect.name)
            absent = found is not None and found.state in RECONCILIATION_ABSENT
            if effect.name in doubtful or (effect.state in EFFECT_OPEN and effect.dispatch):
                self._block(effect.task_id, "unreconciled_effect")
            elif effect.task_id in rerun and not absent and _would_repeat(effect):
                self._block(effect.task_id, "confirmed_mutation")

    def _block(self, task_id: str, rule: Rule) -> None:
        one = Blocked(task_id, rule)
        if one not in self.made.blocked:
            self.made.blocked.append(one)


def _satisfied(task: TaskRecord) -> bool:
    return task.state in TASK_SATISFIED


def _would_repeat(effect: EffectRecord) -> bool:
    """Return whether running the task again would do a second time what must be done once."""
    return (
        effect.state in EFFECT_CONFIRMED
        and effect.effect_class in MUTATING
        and not may_repeat(effect)
    )


def _meant_by(plan: Plan, name: str) -> list[str]:
    """Return the tasks that a name in the document stands for: itself and its inner tasks."""
    inner = [
        task.id
        for task in plan.tasks.values()
        if task.expansion is not None and task.expansion.parent == name
    ]
    inner += [one for one in plan.order if one.startswith(f"{name}--") and one not in inner]
    return [*inner, name] if name in plan.tasks else inner


def _outermost(plan: Plan, failed: Sequence[str]) -> list[str]:
    """Return failed tasks without the ones that failed because of another one's failure."""
    wanted = set(failed)
    return [one for one in failed if not wanted.intersection(plan.tasks[one].needs)]


def _fits(output: JsonValue, schema: JsonValue) -> bool:
    if schema is None:
        return True
    from agentctl.engine.schema_check import validate

    return not validate(output, schema)


def _estimates(plan: Plan, rerun: Iterable[str]) -> dict[str, int]:
    """Count the model tasks, effects and approvals that the tasks may need at least."""
    from agentctl.engine.policy import Policy
    from agentctl.engine.programs import effects_expected

    policy = Policy.from_definitions(plan.definitions)
    counts = {"providerTasks": 0, "effects": 0, "approvals": 0}
    for task_id in rerun:
        task = plan.tasks[task_id]
        counts["providerTasks"] += task.uses_kind == "agent"
        for effect_class, risk in effects_expected(plan, task):
            counts["effects"] += 1
            counts["approvals"] += policy.needs_approval(effect_class, risk)
    return counts


def _fresh_state(source: RunHistory, target: Plan) -> RunState:
    """Return the working set of a run of the target in which nothing has happened."""
    from agentctl.engine.operations.start import pending_tasks
    from agentctl.engine.records import RunHistory as History

    empty = History(
        run=source.run,
        plan={},
        tasks=pending_tasks(target),
        effects=(),
        iterations=(),
        approvals=(),
        memory=initial_memory(target),
    )
    return state_from_history(empty, target)
