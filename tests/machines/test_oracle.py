"""The tables say what the live machines do, for every state and every event."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentctl.errors import IllegalTransition
from agentctl.machines.compiled import TABLES

from .live import DECLARED, Model, live_step

if TYPE_CHECKING:
    from agentctl.machines.names import MachineName

PAIRS = [
    (name, state, event)
    for name, table in TABLES.items()
    for state in table.states
    for event in table.events
]


def test_every_declared_machine_is_compiled() -> None:
    assert list(TABLES) == list(DECLARED)


@pytest.mark.parametrize("name", TABLES)
def test_the_table_agrees_with_the_live_machine_on_every_state_and_event(
    name: MachineName,
) -> None:
    table = TABLES[name]
    for _, state, event in (pair for pair in PAIRS if pair[0] == name):
        expected = live_step(name, state, event)
        if expected is None:
            with pytest.raises(IllegalTransition):
                table.step(state, event)
            assert event not in table.legal(state)
        else:
            assert table.step(state, event) == expected
            assert event in table.legal(state)


@settings(max_examples=60, deadline=None)
@given(name=st.sampled_from(list(TABLES)), choices=st.lists(st.integers(0, 10**6), max_size=25))
def test_a_random_walk_in_the_table_is_the_walk_of_one_live_machine(
    name: MachineName, choices: list[int]
) -> None:
    table = TABLES[name]
    model = Model(table.initial)
    live = DECLARED[name](model=model)
    state: str = table.initial
    for choice in choices:
        events = table.legal(state)
        if not events:
            break
        event = events[choice % len(events)]
        live.send(event)
        state = table.step(state, event)
        assert model.state == state
    assert sorted(table.legal(state)) == sorted(event.id for event in live.allowed_events)
