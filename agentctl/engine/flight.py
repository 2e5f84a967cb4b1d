"""One attempt of one task between its start and its outcome.

Above: the scheduler. Below: programs and the ledger's rules. A flight drives its program from
request to request; it moves effects through a `Work` and never touches the outside.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from attr import define, field, frozen

from agentctl.engine.asking import (
    answer_to,
    drop,
    is_asked_about,
    new_question,
    question_of,
    refuse,
)
from agentctl.engine.ledger import error_json, may_repeat, new_effect
from agentctl.engine.programs.base import TaskError
from agentctl.engine.recall import answer_of, recall
from agentctl.engine.retry import lacks_quota, quota_due
from agentctl.errors import AgentctlError
from agentctl.jsonvalue import exceeds
from agentctl.limits import OUTPUT_BYTES_MAX
from agentctl.machines.names import EffectStates
from agentctl.value import Value

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentctl.clock import Instant
    from agentctl.engine.apply import Work
    from agentctl.engine.artifacts import Shelf
    from agentctl.engine.budget import Budget
    from agentctl.engine.plan import PlanTask
    from agentctl.engine.policy import Policy
    from agentctl.engine.ports import EffectRequest, Preflight
    from agentctl.engine.programs.base import Steps, TaskContext, TaskResult
    from agentctl.engine.records import EffectRecord, TaskRecord
    from agentctl.engine.state import RunState
    from agentctl.errors import EffectError
    from agentctl.jsonvalue import JsonObject, JsonValue
    from agentctl.machines.names import EffectEvent, TaskEvent


@frozen(eq=False, repr=False)
class Done(Value):
    """The attempt gave a result."""

    result: TaskResult


@frozen(eq=False, repr=False)
class Failed(Value):
    """The attempt failed; `retryable` says that the failure is definite and may pass.

    One that `stops` ends the run whatever the task's own `failure` says.
    """

    error: JsonObject
    retryable: bool = False
    event: TaskEvent = "fail"
    stops: bool = False


@frozen(eq=False, repr=False)
class Parked(Value):
    """The attempt waits: the event says for what, the error why, `due_at` until when if known."""

    event: TaskEvent
    error: JsonObject | None = None
    due_at: Instant | None = None

    @property
    def changes(self) -> dict[str, JsonValue]:
        """What the task's record keeps of it."""
        return {"error": self.error, "due_at": self.due_at}


@frozen(eq=False, repr=False)
class Interrupted(Value):
    """The attempt was cancelled in mid-flight."""


Outcome: TypeAlias = "Done | Failed | Parked | Interrupted"


@define(eq=False, repr=False)
class Flight:
    """A running attempt: its program, the effect it waits for, and its outcome at the end.

    `to_dispatch` is true between the commit that starts an effect and its executor's start.
    `shelf` holds what the latest dispatch kept.
    """

    task: TaskRecord
    plan: PlanTask
    steps: Steps | None = None
    context: TaskContext | None = None
    ordinal: int = 0
    request: EffectRequest | None = None
    effect: EffectRecord | None = None
    to_dispatch: bool = False
    shelf: Shelf | None = None
    outcome: Outcome | None = field(default=None)


@frozen(eq=False, repr=False)
class FlightDeck(Value):
    """What every flight of a run shares.

    `preflights` refuse a request, by operation, before it is put on the ledger. Once a provider
    had no quota for a flight, none of them calls a model any more. At `ends_at` the process has
    to stop, whatever is under way.
    """

    state: RunState
    policy: Policy
    budget: Budget | None = None
    preflights: Mapping[str, Preflight] = field(factory=dict)
    ends_at: Instant | None = None
    _without_quota: list[Parked] = field(factory=list, init=False)

    def advance(
        self,
        flight: Flight,
        work: Work,
        now: Instant,
        *,
        value: JsonValue = None,
        error: EffectError | None = None,
    ) -> None:
        """Feed the program until it needs the outside, waits for something, or ends."""
        self._feed(flight, work, now, value, error)
        failed = flight.outcome
        if not isinstance(failed, Failed):
            return
        due = quota_due(self.state.run.id, flight.task, flight.plan, failed.error, now)
        if lacks_quota(flight.task, flight.plan, failed.error, due=due, ends_at=self.ends_at):
            flight.outcome = Parked("await_quota", failed.error, due)
            self._without_quota.append(flight.outcome)

    def _feed(
        self,
        flight: Flight,
        work: Work,
        now: Instant,
        value: JsonValue,
        error: EffectError | None,
    ) -> None:
        while flight.outcome is None:
            request = step(flight, value, error)
            if request is None:
                return
            try:
                known = recall(self.state, flight, request)
            except TaskError as diverged:
                flight.outcome = failure_of(diverged)
                return
            if known is None:
                self._request(flight, request, work, now)
                return
            answer = answer_of(self.state, known)
            if answer is None:
                self._take_up(flight, known, request, work, now)
                return
            value, error = answer

    def _request(self, flight: Flight, request: EffectRequest, work: Work, now: Instant) -> None:
        """Put a new effect on the ledger, and start or hold it."""
        if self._is_refused(flight, request):
            return
        task = flight.task
        effect = new_effect(
            request, self.state.run.id, task, flight.ordinal, len(self.state.effects) + 1, now
        )
        flight.ordinal += 1
        self.state.put_effect(work.add(effect))
        if self.policy.needs_approval(request.effect_class, request.risk, request.approval):
            self._hold(flight, effect, work, now)
            return
        self._start(flight, effect, "start", request, work, now)

    def _is_refused(self, flight: Flight, request: EffectRequest) -> bool:
        """Fail the flight when what the request needs is not there."""
        preflight = self.preflights.get(request.operation)
        if preflight is None:
            return False
        try:
            preflight(request, self.state.plan.definitions)
        except AgentctlError as refusal:
            flight.outcome = failure_of(refusal)
        return flight.outcome is not None

    def _hold(self, flight: Flight, effect: EffectRecord, work: Work, now: Instant) -> None:
        """Ask a person, and park the flight until the answer."""
        mode = self.policy.non_interactive
        held = work.move(effect, "hold", now)
        self.state.put_effect(held)
        approval = work.add(new_question(held, self.policy, now))
        if mode == "pause":
            self.state.approvals[approval.id] = approval
            flight.outcome = Parked("await_approval")
            return
        reason = f"policy.nonInteractive is {mode}"
        self.state.approvals[approval.id] = work.move(
            approval, "reject", now, decided_at=now, actor="policy", reason=reason
        )
        message = f"{effect.operation} needs approval; {reason}"
        error: JsonObject = {"code": "approval_denied", "message": message}
        self.state.put_effect(
            work.move(held, "reject", now, ended_at=now, error=error, actor="policy")
        )
        flight.outcome = Failed(error, stops=mode == "fail")

    def _take_up(
        self,
        flight: Flight,
        effect: EffectRecord,
        request: EffectRequest,
        work: Work,
        now: Instant,
    ) -> None:
        """Go on with an effect that an earlier process left open."""
        if effect.state == EffectStates.requested:
            self._start(flight, effect, "start", request, work, now)
        elif effect.state == EffectStates.waiting_for_approval:
            self._take_answer(flight, effect, request, work, now)
        elif effect.state == EffectStates.started and may_repeat(effect):
            self._start(flight, effect, "repeat", request, work, now)
        else:
            flight.outcome = Parked("await_effect")

    def _take_answer(
        self,
        flight: Flight,
        effect: EffectRecord,
        request: EffectRequest,
        work: Work,
        now: Instant,
    ) -> None:
        """Dispatch what was approved, byte for byte, or ask again about what it is now."""
        question = question_of(self.state, effect)
        answer = answer_to(question, effect, now)
        if question is not None and answer == "no":
            flight.outcome = Failed(refuse(self.state, work, effect, question, now))
        elif answer == "stale" or not is_asked_about(effect, request):
            drop(self.state, work, effect, now, "the request is not the one that was asked about")
            self._request(flight, request, work, now)
        elif answer == "yes":
            self._start(flight, effect, "start_approved", request, work, now)
        else:
            flight.outcome = Parked("await_approval")

    def _start(
        self,
        flight: Flight,
        effect: EffectRecord,
        event: EffectEvent,
        request: EffectRequest,
        work: Work,
        now: Instant,
    ) -> None:
        """Reserve what the effect may use, and have it dispatched after the next commit."""
        if self._without_quota and request.effect_class == "model":
            flight.outcome = self._without_quota[0]
            return
        denial = None if self.budget is None else self.budget.reserve(effect, now)
        if denial is not None:
            flight.outcome = Parked("await_budget", denial.to_json())
            return
        started = work.move(effect, event, now, started_at=now, dispatch=effect.dispatch + 1)
        self.state.put_effect(started)
        flight.effect = started
        flight.request = request
        flight.to_dispatch = True


def failure_of(error: AgentctlError) -> Failed:
    """Return the outcome that an error means for its task."""
    return Failed(error_json(error), retryable=bool(getattr(error, "retryable", False)))


def step(flight: Flight, value: JsonValue, error: EffectError | None) -> EffectRequest | None:
    """Run the program up to its next request, or to its outcome."""
    assert flight.steps is not None
    try:
        if error is not None:
            return flight.steps.throw(error)
        return flight.steps.send(value)
    except StopIteration as stop:
        flight.outcome = Done(stop.value)
    except AgentctlError as failure:
        flight.outcome = failure_of(failure)
    return None


def kept(plan: PlanTask, done: Done) -> Done | Failed:
    """Return a task's outcome, failed when its output is too large or not what it promises."""
    if exceeds(done.result.output, OUTPUT_BYTES_MAX):
        message = (
            f"output of {plan.id} has more than OUTPUT_BYTES_MAX = {OUTPUT_BYTES_MAX:,} bytes"
        )
        return Failed({"code": "output_too_large", "message": message})
    if plan.output_schema is None:
        return done
    from agentctl.engine.schema_check import validate

    problems = validate(done.result.output, plan.output_schema)
    if not problems:
        return done
    message = f"output of {plan.id} does not fit outputSchema: {'; '.join(problems)}"
    return Failed({"code": "schema_violation", "message": message})
