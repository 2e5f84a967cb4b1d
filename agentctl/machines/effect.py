"""The declaration of the effect machine. Only the compiler and the tests import it."""

from __future__ import annotations

from statemachine import Event, State, StateMachine


class Effect(StateMachine):
    """An effect is one touch of the outside world, asked for before it is dispatched."""

    requested = State("stored, and nothing was dispatched", initial=True)
    waiting_for_approval = State("held until a person decides")
    started = State("dispatch was stored; it may be happening")
    succeeded = State("it certainly happened", final=True)
    failed = State("it certainly failed", final=True)
    cancelled = State("it certainly did not happen", final=True)
    uncertain = State("it may have happened; only a reconciliation can say", final=True)

    hold = Event(requested.to(waiting_for_approval), name="its policy asks for a person")
    start = Event(requested.to(started), name="it is about to be dispatched")
    start_approved = Event(
        waiting_for_approval.to(started), name="approved, it is about to be dispatched"
    )
    reject = Event(waiting_for_approval.to(cancelled), name="a person rejected it")
    void = Event(waiting_for_approval.to(cancelled), name="its approval lost its purpose")
    expire = Event(waiting_for_approval.to(cancelled), name="nobody decided in time")
    withdraw = Event(requested.to(cancelled), name="it is no longer wanted")
    succeed = Event(started.to(succeeded), name="its executor confirmed it")
    fail = Event(started.to(failed), name="its executor reported a lasting failure")
    fail_transiently = Event(
        started.to(failed), name="its executor reported a failure that may pass"
    )
    repeat = Event(started.to(started), name="recovery runs it again, as its idempotency allows")
    abort = Event(started.to(cancelled), name="it was stopped, and nothing happened for certain")
    time_out = Event(started.to(uncertain), name="no answer came in time")
    disconnect = Event(started.to(uncertain), name="the connection broke before the answer")
    interrupt = Event(started.to(uncertain), name="it was cancelled midway")
    lose = Event(started.to(uncertain), name="a crash left it without an answer")
