"""The declaration of the approval machine. Only the compiler and the tests import it."""

from __future__ import annotations

from statemachine import Event, State, StateMachine


class Approval(StateMachine):
    """An approval is one question to a person about one effect, answered at most once.

    An answer holds for one dispatch of exactly what was asked; until then it can become void.
    """

    pending = State("nobody has decided", initial=True)
    approved = State("a person allowed it")
    rejected = State("a person refused it", final=True)
    expired = State("nobody decided in time", final=True)
    # Stored as `void`; a class cannot hold a state and an event of the same name.
    voided = State("the question lost its purpose", value="void", final=True)

    approve = Event(pending.to(approved), name="a person allows it")
    reject = Event(pending.to(rejected), name="a person refuses it")
    expire = Event(pending.to(expired), name="its deadline passes")
    void = Event(
        pending.to(voided) | approved.to(voided),
        name="its run, or what it asks about, is gone or changed",
    )
