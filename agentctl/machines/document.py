"""The declaration of the document machine. Only the compiler and the tests import it."""

from __future__ import annotations

from statemachine import Event, State, StateMachine


class Document(StateMachine):
    """A document is a text of an assignment that is written again and again, never overwritten."""

    drafted = State("its newest revision can be read and written on", initial=True)
    archived = State("it can be read only", final=True)

    write = Event(drafted.to(drafted), name="a new revision follows the one it was based on")
    archive = Event(drafted.to(archived), name="nobody shall write it any more")
