"""The declaration of the loop iteration machine. Only the compiler and the tests import it."""

from __future__ import annotations

from statemachine import Event, State, StateMachine


class Iteration(StateMachine):
    """An iteration is one round of a loop, the guard's verdict apart from the work."""

    pending = State("the round before it is not over", initial=True)
    guard_evaluated = State("the loop's guard gave a verdict, which is stored")
    running = State("the tasks of its body are under way")
    done = State("its body finished and the loop may go on", final=True)
    skipped = State("its body was not needed", final=True)
    exhausted = State("its body finished, the goal was missed, and no round is left", final=True)
    failed = State("its guard or its body failed", final=True)
    cancelled = State("its run stopped first", final=True)

    evaluate = Event(pending.to(guard_evaluated), name="the guard gave a verdict")
    accept = Event(guard_evaluated.to(running), name="the verdict asks for this round")
    decline = Event(guard_evaluated.to(skipped), name="the verdict ends the loop")
    bypass = Event(pending.to(skipped), name="the loop ended in an earlier round")
    finish = Event(running.to(done), name="every task of the body is satisfied")
    exhaust = Event(running.to(exhausted), name="the last allowed round missed the goal")
    fail = Event(guard_evaluated.to(failed) | running.to(failed), name="guard or body failed")
    cancel = Event(
        pending.to(cancelled) | guard_evaluated.to(cancelled) | running.to(cancelled),
        name="its run stops",
    )
