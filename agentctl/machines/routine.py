"""The declaration of the routine machine. Only the compiler and the tests import it."""

from __future__ import annotations

from statemachine import Event, State, StateMachine


class Routine(StateMachine):
    """A routine describes work that an outside scheduler starts again and again."""

    active = State("the scheduler should start it", initial=True)
    paused = State("the scheduler should leave it alone for now")
    retired = State("it is not wanted any more", final=True)

    revise = Event(active.to(active) | paused.to(paused), name="its description changes")
    pause = Event(active.to(paused), name="it shall rest")
    resume = Event(paused.to(active), name="it shall run again")
    retire = Event(active.to(retired) | paused.to(retired), name="it shall never run again")
