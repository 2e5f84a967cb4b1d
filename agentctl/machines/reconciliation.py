"""The declaration of the reconciliation machine. Only the compiler and the tests import it."""

from __future__ import annotations

from statemachine import Event, State, StateMachine


class Reconciliation(StateMachine):
    """A reconciliation says what became of one uncertain effect, on newest evidence."""

    open = State("no evidence yet", initial=True)
    applied = State("the evidence says it happened")
    not_applied = State("the evidence says it did not happen")
    compensated = State("it happened and was undone")
    archived = State("closed for good", final=True)

    note = Event(open.to(open), name="somebody looked, and it is still open")
    apply = Event(open.to(applied), name="evidence shows that it happened")
    reapply = Event(applied.to(applied), name="newer evidence shows the same again")
    deny = Event(open.to(not_applied), name="evidence shows that it did not happen")
    redeny = Event(not_applied.to(not_applied), name="newer evidence denies it again")
    compensate = Event(
        open.to(compensated) | applied.to(compensated), name="evidence shows that it was undone"
    )
    recompensate = Event(
        compensated.to(compensated), name="newer evidence shows the undoing again"
    )
    archive = Event(
        open.to(archived)
        | applied.to(archived)
        | not_applied.to(archived)
        | compensated.to(archived),
        name="nobody needs to look at it again",
    )
