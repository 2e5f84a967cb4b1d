"""The declaration of the assignment machine. Only the compiler and the tests import it."""

from __future__ import annotations

from statemachine import Event, State, StateMachine


class Assignment(StateMachine):
    """An assignment is work that the control plane has given to an agent, until it is done."""

    open = State("its agent may work on it", initial=True)
    blocked = State("its agent cannot go on before something else happens")
    in_review = State("a person has to judge it or to answer first")
    done = State("its agent or its reviewer called it done", final=True)
    cancelled = State("it is not wanted any more", final=True)

    amend = Event(open.to(open) | blocked.to(blocked), name="what it says or waits for changes")
    block = Event(open.to(blocked), name="its agent says why it cannot go on")
    unblock = Event(blocked.to(open), name="what it waited for is there")
    submit = Event(open.to(in_review), name="its agent asks for a review")
    ask = Event(open.to(in_review), name="its agent asks a person")
    answer = Event(in_review.to(open), name="the person answered, or sent it back")
    accept = Event(in_review.to(done), name="the reviewer accepts it")
    finish = Event(open.to(done), name="its agent calls it done")
    cancel = Event(
        open.to(cancelled) | blocked.to(cancelled) | in_review.to(cancelled),
        name="somebody calls it off",
    )
