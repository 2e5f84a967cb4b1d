"""The declaration of the run machine. Only the compiler and the tests import it."""

from __future__ import annotations

from statemachine import Event, State, StateMachine


class Run(StateMachine):
    """A run carries one compiled plan from creation to exactly one outcome."""

    created = State("stored with its plan; nothing was dispatched", initial=True)
    running = State("a process owns it and advances its tasks")
    paused = State("parked until a person decides an approval or a reconciliation")
    waiting = State("parked until a provider's quota allows work again")
    budget_exceeded = State("stopped by its budget; a raise lets it go on with all it finished")
    succeeded = State("every task that matters is satisfied", final=True)
    failed = State("it ended without its result", final=True)
    cancelled = State("a person or a signal stopped it", final=True)

    start = Event(created.to(running), name="a process takes it up for the first time")
    recover = Event(running.to(running), name="a new owner continues after the old one was lost")
    migrate_memory = Event(
        running.to(running), name="memory taken over takes the form that its workflow declares"
    )
    pause_for_approval = Event(running.to(paused), name="only an approval lets it go on")
    pause_for_reconciliation = Event(
        running.to(paused), name="only the settling of an uncertain effect lets it go on"
    )
    wait_for_quota = Event(running.to(waiting), name="a provider's quota is spent for now")
    resume = Event(paused.to(running) | waiting.to(running), name="what it waited for is there")
    succeed = Event(running.to(succeeded), name="its last task was satisfied")
    fail = Event(running.to(failed), name="a task failed and nothing tolerates it")
    time_out = Event(running.to(failed) | paused.to(failed), name="its deadline passed")
    exhaust_budget = Event(
        running.to(budget_exceeded) | waiting.to(budget_exceeded),
        name="what it asked for next is more than its budget has left",
    )
    raise_budget = Event(budget_exceeded.to(running), name="a person raised the spent budget")
    reject = Event(paused.to(failed), name="a person rejected the approval it depends on")
    abandon = Event(paused.to(failed), name="a person gave the uncertain effect up")
    cancel = Event(
        created.to(cancelled)
        | running.to(cancelled)
        | paused.to(cancelled)
        | waiting.to(cancelled)
        | budget_exceeded.to(cancelled),
        name="a person or a signal asked it to stop",
    )
    record_success = Event(created.to(succeeded), name="a replay copies its source's success")
    record_failure = Event(created.to(failed), name="a replay copies its source's failure")
    record_cancellation = Event(
        created.to(cancelled), name="a replay copies its source's cancellation"
    )
