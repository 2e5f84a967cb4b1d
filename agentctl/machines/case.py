"""The declaration of the case machine. Only the compiler and the tests import it."""

from __future__ import annotations

from statemachine import Event, State, StateMachine


class Case(StateMachine):
    """A case is a matter on record that several assignments add to."""

    open = State("it can be written", initial=True)
    closed = State("it is settled", final=True)

    write = Event(open.to(open), name="its text is replaced")
    close = Event(open.to(closed), name="somebody with that right settles it")
