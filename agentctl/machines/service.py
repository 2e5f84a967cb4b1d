"""The declaration of the service machine. Only the compiler and the tests import it."""

from __future__ import annotations

from statemachine import Event, State, StateMachine


class Service(StateMachine):
    """A service is a program beside an assignment's workspace, as its agents report it."""

    stopped = State("it does not run", initial=True)
    running = State("it runs")
    failed = State("it stopped by itself")
    removed = State("it is not there any more", final=True)

    start = Event(stopped.to(running) | failed.to(running), name="it was started")
    stop = Event(running.to(stopped) | failed.to(stopped), name="it was stopped")
    fail = Event(running.to(failed), name="it stopped by itself")
    remove = Event(stopped.to(removed) | failed.to(removed), name="it was taken away")
