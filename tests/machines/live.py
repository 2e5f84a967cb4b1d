"""Live python-statemachine instances: the independent oracle for the compiled tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attr import define
from statemachine.exceptions import TransitionNotAllowed

from agentctl.machines.generate import declarations

if TYPE_CHECKING:
    from statemachine import StateMachine

DECLARED: dict[str, type[StateMachine]] = {each.__name__.lower(): each for each in declarations()}


@define
class Model:
    """What a live machine keeps its state in."""

    state: str


def live_step(machine: str, state: str, event: str) -> str | None:
    """Return where a live machine goes from a state, or None when it refuses the event."""
    model = Model(state)
    live = DECLARED[machine](model=model)
    try:
        live.send(event)
    except TransitionNotAllowed:
        return None
    return model.state
