"""The declaration of the review machine. Only the compiler and the tests import it."""

from __future__ import annotations

from statemachine import Event, State, StateMachine


class Review(StateMachine):
    """A review is one person's judgement of an assignment, given at most once."""

    requested = State("nobody has judged yet", initial=True)
    accepted = State("the work is good as it is", final=True)
    returned = State("the work needs changes", final=True)
    withdrawn = State("the review lost its purpose", final=True)

    accept = Event(requested.to(accepted), name="a person accepts the work")
    send_back = Event(requested.to(returned), name="a person wants changes")
    withdraw = Event(requested.to(withdrawn), name="its assignment is over")
