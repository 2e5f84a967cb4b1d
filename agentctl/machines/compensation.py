"""The declaration of the compensation machine. Only the compiler and the tests import it."""

from __future__ import annotations

from statemachine import Event, State, StateMachine


class Compensation(StateMachine):
    """A compensation undoes one effect that happened."""

    planned = State("it may start when its turn comes", initial=True)
    blocked = State("something must be settled before it")
    running = State("the undoing was dispatched")
    compensated = State("the effect is undone", final=True)
    failed = State("the undoing failed and may be tried again")
    uncertain = State("the undoing may have happened")
    cancelled = State("it will not be undone", final=True)

    block = Event(planned.to(blocked), name="it depends on something unsettled")
    unblock = Event(blocked.to(planned), name="what it depended on is settled")
    start = Event(planned.to(running), name="the undoing is about to be dispatched")
    succeed = Event(running.to(compensated), name="the undoing was confirmed")
    fail = Event(running.to(failed), name="the undoing failed for certain")
    retry = Event(failed.to(running), name="the undoing is dispatched again")
    lose = Event(running.to(uncertain), name="no answer tells what happened")
    settle = Event(uncertain.to(compensated), name="evidence shows that it was undone")
    reopen = Event(uncertain.to(planned), name="evidence shows that it was not undone")
    cancel = Event(
        planned.to(cancelled) | blocked.to(cancelled) | failed.to(cancelled),
        name="a person decides to leave the effect as it is",
    )
