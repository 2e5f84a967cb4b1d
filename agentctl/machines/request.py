"""The declaration of the request machine. Only the compiler and the tests import it."""

from __future__ import annotations

from statemachine import Event, State, StateMachine


class Request(StateMachine):
    """A request is one question of an agent to a person, answered at most once."""

    pending = State("nobody has answered", initial=True)
    answered = State("a person answered", final=True)
    declined = State("a person refused, or said no", final=True)
    withdrawn = State("the question lost its purpose", final=True)

    answer = Event(pending.to(answered), name="a person answers")
    decline = Event(pending.to(declined), name="a person refuses, or says no")
    withdraw = Event(pending.to(withdrawn), name="its assignment is over")
