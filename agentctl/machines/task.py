"""The declaration of the task machine. Only the compiler and the tests import it."""

from __future__ import annotations

from statemachine import Event, State, StateMachine


class Task(StateMachine):
    """A task is one node of a plan, from pending to exactly one outcome."""

    pending = State("its dependencies are not settled yet", initial=True)
    ready = State("it may start as soon as there is room")
    running = State("an attempt is under way")
    waiting_for_approval = State("a person must approve its effect first")
    waiting_for_effect = State("its effect is uncertain and must be settled first")
    waiting_for_budget = State("its next effect is more than the budget has left")
    waiting_for_quota = State("a provider has no quota for its next call at present")
    retry_scheduled = State("an attempt failed and the next one has its time")
    succeeded = State("it has an output", final=True)
    failed = State("its last attempt failed", final=True)
    skipped = State("it was not needed", final=True)
    cancelled = State("it was stopped before an outcome", final=True)

    admit = Event(pending.to(ready), name="its dependencies are settled in its favour")
    skip_by_condition = Event(pending.to(skipped), name="its condition is false")
    skip_by_route = Event(pending.to(skipped), name="its router chose another route")
    skip_by_dependency = Event(pending.to(skipped), name="something it needs has no output")
    skip_by_guard = Event(pending.to(skipped), name="its loop ended before this iteration")
    start = Event(ready.to(running), name="an attempt begins")
    await_approval = Event(
        running.to(waiting_for_approval), name="its effect needs a person's approval"
    )
    await_effect = Event(running.to(waiting_for_effect), name="its effect became uncertain")
    await_budget = Event(running.to(waiting_for_budget), name="the budget denied its effect")
    await_quota = Event(
        running.to(waiting_for_quota), name="a provider's quota is spent, so no call may start"
    )
    replenish = Event(
        waiting_for_quota.to(running), name="the call that was held back for a quota may start"
    )
    fund = Event(waiting_for_budget.to(running), name="the budget was raised")
    approve = Event(waiting_for_approval.to(running), name="a person approved its effect")
    ask_again = Event(
        waiting_for_approval.to(running), name="what it asked about changed, so it asks again"
    )
    reject = Event(waiting_for_approval.to(failed), name="a person rejected its effect")
    expire = Event(waiting_for_approval.to(failed), name="nobody decided in time")
    settle = Event(waiting_for_effect.to(running), name="its uncertain effect was settled")
    abandon = Event(waiting_for_effect.to(failed), name="its uncertain effect was given up")
    recover = Event(running.to(running), name="a new owner continues the attempt")
    succeed = Event(running.to(succeeded), name="the attempt gave a valid output")
    fail = Event(running.to(failed), name="the attempt failed for good")
    time_out = Event(running.to(failed), name="the attempt outlived its time")
    lose = Event(running.to(failed), name="its effect is uncertain and nothing may wait for it")
    schedule_retry = Event(running.to(retry_scheduled), name="the attempt failed; another follows")
    rearm = Event(
        retry_scheduled.to(ready) | waiting_for_quota.to(ready),
        name="the time of the next attempt has come",
    )
    cancel = Event(
        pending.to(cancelled)
        | ready.to(cancelled)
        | running.to(cancelled)
        | waiting_for_approval.to(cancelled)
        | waiting_for_effect.to(cancelled)
        | waiting_for_budget.to(cancelled)
        | waiting_for_quota.to(cancelled)
        | retry_scheduled.to(cancelled),
        name="its run stops, or its result is no longer wanted",
    )
    reuse = Event(pending.to(succeeded), name="an earlier run's output serves again")
    record_success = Event(pending.to(succeeded), name="a replay copies its source's success")
    record_failure = Event(pending.to(failed), name="a replay copies its source's failure")
    record_skip = Event(pending.to(skipped), name="a replay copies its source's skip")
    record_cancellation = Event(
        pending.to(cancelled), name="a replay copies its source's cancellation"
    )
