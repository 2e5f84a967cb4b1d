"""The compiler from a live python-statemachine class to a `Table`.

Only `generate` and the tests call it: it pays for importing the library. It refuses everything
that a flat table cannot say, so that no condition and no action can hide in a declaration.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, cast

from agentctl.machines.table import Table, table_digest

if TYPE_CHECKING:
    from collections.abc import Iterable

    from statemachine import Event, State, StateMachine
    from statemachine.callbacks import CallbackSpec


class NotCompilable(TypeError):
    """A declaration says more than a flat table can hold."""


def compile_table(machine: type[StateMachine]) -> Table[str, str]:
    """Return the table of a flat machine; raises NotCompilable for anything else."""
    live = list(machine.states)
    states = {_stored(state): str(state.name) for state in live}
    if len(states) != len(live):
        raise NotCompilable(f"{machine.__name__}: two states are stored under one text")
    events = {event.id: str(event.name) for event in cast("Iterable[Event]", machine.events)}
    rows = {_stored(state): _row(machine, state, events) for state in live}
    initial = next(_stored(state) for state in live if state.initial)
    finals = frozenset(_stored(state) for state in live if state.final)
    name = machine.__name__.lower()
    return Table(
        name=name,
        meaning=_first_line(machine),
        initial=initial,
        finals=finals,
        state_meanings=states,
        event_meanings=events,
        rows=rows,
        digest=table_digest(name, initial, finals, rows),
    )


def _row(machine: type[StateMachine], state: State, events: Iterable[str]) -> dict[str, str]:
    where = f"{machine.__name__}.{state.id}"
    if state.states or state.parallel or state.history:
        raise NotCompilable(f"{where}: nested, parallel or history state")
    _refuse_callbacks(machine, where, state.enter, state.exit, state.invoke)
    row: dict[str, str] = {}
    for move in state.transitions:
        if move.is_eventless or len(move.targets) != 1:
            raise NotCompilable(f"{where}: eventless or multi-target transition")
        _refuse_callbacks(
            machine, where, move.validators, move.cond, move.before, move.on, move.after
        )
        for event in move.events:
            if event.id in row:
                raise NotCompilable(f"{where}: two edges for event {event.id!r}")
            row[event.id] = _stored(move.targets[0])
    return {event: row[event] for event in events if event in row}


def _refuse_callbacks(
    machine: type[StateMachine], where: str, *groups: Iterable[CallbackSpec]
) -> None:
    """Refuse explicit callbacks, and methods that the library finds by their names."""
    for spec in chain.from_iterable(groups):
        if not spec.is_convention or hasattr(machine, spec.attr_name):
            raise NotCompilable(f"{where}: carries the callback {spec.attr_name!r}")


def _stored(state: State) -> str:
    if not isinstance(state.value, str):
        raise NotCompilable(f"state {state.id}: stored as {state.value!r}, which is not a text")
    return state.value


def _first_line(machine: type[StateMachine]) -> str:
    return (machine.__doc__ or machine.__name__).strip().splitlines()[0]
