"""What can happen to a run and its world, drawn step by step, and what holds after each step.

Above: the tests. Below: the world. Within a step processes act alone; between two steps anything
may come next, so that every order of events is drawn.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from agentctl.errors import IllegalTransition, LeaseLost, RunHeld, StateError
from agentctl.machines.compiled import TABLES
from agentctl.machines.sets import EFFECT_OPEN, RUN_FINAL, TASK_FINAL
from agentctl.store.verify import verify_run
from tests.engine.harness import task, workflow
from tests.model.explore import edges
from tests.model.world import IDEMPOTENCIES, ONCE, Call, Process, World

if TYPE_CHECKING:
    from agentctl.engine.records import EffectRecord, Idempotency, RunHistory

NAMES = ("a", "b", "c")
picks = st.integers(0, 5)


class WorldMachine(RuleBasedStateMachine):
    """Draws what happens next; the invariants hold after each of it."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="agentctl-world-"))
        self.world = World(self.folder)
        # The state and version of every record that is over, and all that was ever confirmed.
        self.over: dict[tuple[str, str], tuple[str, int]] = {}
        self.confirmed: dict[str, Any] = {}
        self.verified: RunHistory | None = None

    def teardown(self) -> None:
        try:
            self._bring_to_an_end()
        finally:
            self.world.close()
            shutil.rmtree(self.folder)

    # -- what is there --

    @property
    def open_calls(self) -> list[Call]:
        return [one for one in self.world.calls if one.is_open]

    @property
    def on_the_way(self) -> list[Call]:
        return [one for one in self.world.calls if one.may_happen]

    @property
    def busy(self) -> list[Process]:
        return [one for one in self.world.processes if one.driving is not None]

    @property
    def idle(self) -> list[Process]:
        return [one for one in self.world.processes if one.driving is None]

    @property
    def is_stored(self) -> bool:
        return self.world.stored is not None

    def doubtful(self) -> list[EffectRecord]:
        """Return the effects that an operator may say something about."""
        if not self.is_stored or self.world.is_held:
            return []
        return [
            one
            for one in self.world.history.effects
            if one.state == "uncertain" or (one.state == "started" and one.idempotency in ONCE)
        ]

    def undecided(self) -> list[EffectRecord]:
        """Return the effects that nobody said anything about yet."""
        return [one for one in self.doubtful() if one.name not in self.world.findings]

    # -- events --

    @initialize(
        idempotencies=st.lists(st.sampled_from(IDEMPOTENCIES), min_size=1, max_size=3),
        chained=st.booleans(),
        width=st.integers(1, 3),
        attempts=st.integers(1, 2),
        failure=st.sampled_from(["stop", "continue"]),
    )
    def write(
        self,
        idempotencies: list[Idempotency],
        *,
        chained: bool,
        width: int,
        attempts: int,
        failure: str,
    ) -> None:
        tasks = [
            task(
                name,
                f"action:{idempotency}",
                *((NAMES[place - 1],) if chained and place else ()),
                with_={"task": name},
                retry={"maxAttempts": attempts, "backoffMs": 1000},
                failure=failure,
            )
            for place, (name, idempotency) in enumerate(zip(NAMES, idempotencies, strict=False))
        ]
        self.document = workflow(*tasks, runtime={"maxConcurrency": width})

    @precondition(lambda self: not self.is_stored)
    @rule(pick=picks)
    def start(self, pick: int) -> None:
        process = self.idle[pick % len(self.idle)]
        loaded = process.engine.load(self.document)
        self.world.drive(process, process.engine.start(loaded))

    @precondition(lambda self: self.is_stored and self.idle)
    @rule(pick=picks)
    def resume(self, pick: int) -> None:
        held, history = self.world.is_held, self.world.history
        process = self.idle[pick % len(self.idle)]
        self._resume(process)
        if held:
            assert isinstance(process.refusal, RunHeld)
        elif history.run.state in RUN_FINAL:
            assert isinstance(process.refusal, StateError)

    @precondition(lambda self: self.world.is_held and self.idle and self.busy)
    @rule()
    def take_over(self) -> None:
        self.world.lose_lease()
        self._resume(self.idle[0])

    @precondition(lambda self: self.on_the_way)
    @rule(pick=picks)
    def happen(self, pick: int) -> None:
        self.world.happen(self.on_the_way[pick % len(self.on_the_way)])

    @precondition(lambda self: self.open_calls)
    @rule(pick=picks)
    def confirm(self, pick: int) -> None:
        call = self.open_calls[pick % len(self.open_calls)]
        self._report(call, lambda: self.world.confirm(call))

    @precondition(lambda self: any(not one.happened for one in self.open_calls))
    @rule(pick=picks, retryable=st.booleans())
    def refuse(self, pick: int, *, retryable: bool) -> None:
        calls = [one for one in self.open_calls if not one.happened]
        call = calls[pick % len(calls)]
        self._report(call, lambda: self.world.refuse(call, retryable=retryable))

    @precondition(lambda self: self.open_calls)
    @rule(pick=picks)
    def break_off(self, pick: int) -> None:
        self.world.break_off(self.open_calls[pick % len(self.open_calls)])

    @precondition(lambda self: self.open_calls)
    @rule()
    def pass_time(self) -> None:
        self.world.pass_time()

    @precondition(lambda self: self.busy)
    @rule(pick=picks)
    def kill(self, pick: int) -> None:
        self.world.kill(self.busy[pick % len(self.busy)])

    @rule(pick=st.integers(0, 1), after=st.booleans(), commits=st.integers(1, 2))
    def die_at_a_commit(self, pick: int, *, after: bool, commits: int) -> None:
        crash = self.world.processes[pick].crash
        crash.at, crash.after = crash.count + commits, after

    @precondition(lambda self: self.busy)
    @rule(pick=picks)
    def cancel(self, pick: int) -> None:
        process = self.busy[pick % len(self.busy)]
        process.engine.interrupt("ada", "enough")
        self.world.settle()

    @precondition(lambda self: self.doubtful())
    @rule(pick=picks, status=st.sampled_from(["applied", "not_applied", "compensated"]))
    def reconcile_carelessly(self, pick: int, status: Any) -> None:
        doubtful = self.doubtful()
        self._reconcile(doubtful[pick % len(doubtful)], status)

    @precondition(lambda self: self.undecided())
    @rule(pick=picks)
    def reconcile_truthfully(self, pick: int) -> None:
        doubtful = self.undecided()
        effect = doubtful[pick % len(doubtful)]
        self._reconcile(effect, self._truth(effect))

    # -- how --

    def _resume(self, process: Process) -> None:
        self.world.drive(process, process.engine.resume(self.world.history.run.id))

    def _report(self, call: Call, answer: Any) -> None:
        """Answer a call; of an owner that lost the run, only evidence may be kept."""
        before = self.world.history
        answer()
        if not isinstance(call.process.refusal, LeaseLost):
            return
        after = self.world.history
        assert (after.run, after.tasks, after.effects) == (
            before.run,
            before.tasks,
            before.effects,
        )
        assert call.effect in {one.effect_name for one in after.late_reports}

    def _calls_of(self, effect: str) -> list[Call]:
        return [one for one in self.world.calls if one.effect == effect]

    def _truth(self, effect: EffectRecord) -> str:
        happened = any(one.happened and not one.undone for one in self._calls_of(effect.name))
        return "applied" if happened else "not_applied"

    def _reconcile(self, effect: EffectRecord, status: Any) -> None:
        """Record a finding, and remember what was said of what."""
        history = self.world.history
        other = next((one for one in history.effects if one.state == "succeeded"), None)
        calls = [one for one in self._calls_of(effect.name) if one.happened]
        more: dict[str, Any] = {}
        if status == "applied":
            more["result"] = calls[-1].result if calls else {"call": -1}
        if status == "compensated":
            if other is None:
                return
            more["compensation_effect"] = other.name
        try:
            self.world.observer.reconcile(
                history.run.id, effect.name, status=status, actor="ada", reason="looked", **more
            )
            self.world.look()
        except IllegalTransition:
            assert effect.name in self.world.findings
            return
        if status == "compensated":
            for one in calls:
                one.undone = True
        elif status != self._truth(effect):
            self.world.misled.add(effect.task_id)
        self.world.findings[effect.name] = status

    def _bring_to_an_end(self) -> None:
        """Show that no run is stranded: answers, true findings and resumes always end it."""
        for process in self.world.processes:
            process.crash.at = 0
        for _ in range(20):
            for call in self.open_calls:
                if call.is_open:
                    self.world.confirm(call)
            if not self.is_stored or self.world.history.run.state in RUN_FINAL:
                break
            for effect in self.undecided():
                self._reconcile(effect, self._truth(effect))
            if not self.world.is_held:
                self._resume(self.idle[0])
        self.the_history_is_kept()
        if not self.is_stored:
            return
        history = self.world.history
        assert history.run.state in RUN_FINAL
        self._check_success(history)
        # What the search of the small model covers is what an engine does, and no less.
        journal = self.world.observer.store.transitions(history.run.id)
        assert {(one.machine, one.source, one.event) for _, one in journal} <= edges()

    def _check_success(self, history: RunHistory) -> None:
        """Of what succeeded, an effect is in the world unless somebody was told a falsehood."""
        for one in history.tasks:
            if one.state == "succeeded" and one.id not in self.world.misled:
                assert any(call.happened for call in self.world.calls if call.task == one.id)

    # -- what always holds --

    @invariant()
    def no_dispatch_was_forbidden(self) -> None:
        assert not self.world.broken

    @invariant()
    def what_must_happen_once_happened_once(self) -> None:
        """Count what is in the world; a receiver that knows keys sees a repetition as one."""
        for name in NAMES:
            calls = [
                one
                for one in self.world.calls
                if one.task == name and one.happened and not one.undone
            ]
            if not calls or name in self.world.misled or calls[0].idempotency == "idempotent":
                continue
            keyed = calls[0].idempotency == "keyed"
            assert len({one.key if keyed else one.number for one in calls}) == 1

    @invariant()
    def the_history_is_kept(self) -> None:
        history = self.world.stored
        if history is None or history is self.verified:
            return
        assert verify_run(self.world.observer.store, history.run.id) == []
        self.verified = history
        self._nothing_final_moves(history)
        self._what_is_confirmed_stays(history)
        self._what_is_recorded_is_true(history)
        if history.run.state in RUN_FINAL:
            assert {one.state for one in history.tasks} <= TASK_FINAL
            assert not {one.state for one in history.effects} & EFFECT_OPEN

    def _nothing_final_moves(self, history: RunHistory) -> None:
        records: list[Any] = [history.run, *history.tasks, *history.effects]
        now = {(one.machine, one.entity): (one.state, one.version) for one in records}
        assert {key: now[key] for key in self.over} == self.over
        tables = {table.name: table for table in TABLES.values()}
        self.over = {key: value for key, value in now.items() if tables[key[0]].is_final(value[0])}

    def _what_is_confirmed_stays(self, history: RunHistory) -> None:
        now = {one.name: one.result for one in history.effects if one.state == "succeeded"}
        assert {key: now.get(key) for key in self.confirmed} == self.confirmed
        self.confirmed = now

    def _what_is_recorded_is_true(self, history: RunHistory) -> None:
        """The ledger says no more than the executors did."""
        outputs = {one.id: one.output for one in history.tasks if one.state == "succeeded"}
        for effect in history.effects:
            calls = self._calls_of(effect.name)
            if effect.state == "succeeded":
                results = [one.result for one in calls if one.happened and one.answer == "yes"]
                assert effect.result in results
                assert outputs.get(effect.task_id, effect.result) == effect.result
            if effect.state == "failed" and effect.idempotency != "idempotent":
                assert calls[-1].answer == "no"
