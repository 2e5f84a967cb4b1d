"""The declaration of the entry machine. Only the compiler and the tests import it."""

from __future__ import annotations

from statemachine import Event, State, StateMachine


class Entry(StateMachine):
    """An entry is a plain fact on record: a note, a deliverable, a goal, a project, a skill."""

    recorded = State("it stands", initial=True)
    withdrawn = State("it stands no more", final=True)

    revise = Event(recorded.to(recorded), name="it is replaced by a newer wording")
    withdraw = Event(recorded.to(withdrawn), name="it does not hold any more")
