"""What holds for every machine: reachability, ends that stay ends, a way to an end."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Any, get_args

import pytest

from agentctl.errors import Bug, IllegalTransition
from agentctl.machines import names, sets
from agentctl.machines.compiled import (
    APPROVAL,
    COMPENSATION,
    EFFECT,
    RUN,
    SESSION,
    TABLES,
    TASK,
)
from agentctl.machines.names import TaskStates
from agentctl.machines.table import table_digest

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agentctl.machines.table import Table

    AnyTable = Table[Any, Any]

EVERY = pytest.mark.parametrize("table", TABLES.values(), ids=list(TABLES))


def _closure(table: AnyTable, start: Iterable[str], *, backwards: bool) -> set[str]:
    reached = set(start)
    while True:
        pairs = [(to, by) if backwards else (by, to) for by, _, to in table.edges]
        more = {end for origin, end in pairs if origin in reached} - reached
        if not more:
            return reached
        reached |= more


@EVERY
def test_every_state_is_reachable(table: AnyTable) -> None:
    assert _closure(table, [table.initial], backwards=False) == set(table.states)


@EVERY
def test_every_state_has_a_way_to_an_end(table: AnyTable) -> None:
    assert _closure(table, table.finals, backwards=True) == set(table.states)


@EVERY
def test_exactly_the_final_states_have_no_legal_event(table: AnyTable) -> None:
    ends = {state for state in table.states if not table.legal(state)}
    assert ends == table.finals == {state for state in table.states if table.is_final(state)}


@EVERY
def test_the_initial_state_comes_first_and_every_event_is_used(table: AnyTable) -> None:
    assert table.states[0] == table.initial
    assert {event for _, event, _ in table.edges} == set(table.events)


@EVERY
def test_every_state_and_event_has_a_meaning_of_its_own(table: AnyTable) -> None:
    for meanings in (table.state_meanings, table.event_meanings):
        assert all(" " in text for text in meanings.values())
        assert len(set(meanings.values())) == len(meanings)


@EVERY
def test_the_digest_is_that_of_the_rows(table: AnyTable) -> None:
    assert table.digest == table_digest(table.name, table.initial, table.finals, table.rows)


def test_the_digest_changes_with_an_edge_and_not_with_order() -> None:
    rows: dict[str, dict[str, str]]
    rows = {state: dict(reversed([*TASK.rows[state].items()])) for state in TASK.states[::-1]}
    assert table_digest("task", TASK.initial, TASK.finals, rows) == TASK.digest
    del rows["ready"]["cancel"]
    assert table_digest("task", TASK.initial, TASK.finals, rows) != TASK.digest


@EVERY
def test_the_typed_names_are_those_of_the_table(table: AnyTable) -> None:
    title = table.name.title()
    assert get_args(getattr(names, f"{title}State")) == table.states
    assert get_args(getattr(names, f"{title}Event")) == table.events
    grouped = vars(getattr(names, f"{title}States"))
    assert tuple(name for name in grouped if not name.startswith("_")) == table.states
    assert all(grouped[state] == state for state in table.states)


def test_an_illegal_move_says_what_is_legal() -> None:
    with pytest.raises(IllegalTransition) as caught:
        TASK.step(TaskStates.ready, "succeed")
    assert caught.value.legal == ("start", "cancel")
    assert caught.value.machine == "task"


@pytest.mark.parametrize("method", ["legal", "is_final", "as_state"])
def test_an_unknown_state_is_a_bug_and_names_the_known_ones(method: str) -> None:
    with pytest.raises(Bug, match="'lost' is not a state; known: created, running"):
        getattr(RUN, method)("lost")
    table: AnyTable = RUN
    with pytest.raises(Bug, match="'lost' is not a state"):
        table.step("lost", "start")


def test_a_stored_text_becomes_a_typed_name_or_a_bug() -> None:
    assert APPROVAL.as_state("void") == "void"
    assert APPROVAL.as_event("void") == "void"
    with pytest.raises(Bug, match="'annul' is not an event"):
        APPROVAL.as_event("annul")


def test_only_uncertain_and_confirmed_ends_of_an_effect_lead_out_of_dispatch() -> None:
    targets = {EFFECT.step("started", event) for event in EFFECT.legal("started")}
    assert targets == EFFECT.finals | {"started"}


@pytest.mark.parametrize(
    ("table", "still_open", "final"),
    [
        (RUN, sets.RUN_LIVE, sets.RUN_FINAL),
        (TASK, sets.TASK_OPEN, sets.TASK_FINAL),
        (EFFECT, sets.EFFECT_OPEN, sets.EFFECT_FINAL),
        (COMPENSATION, sets.COMPENSATION_OPEN, sets.COMPENSATION_FINAL),
        (SESSION, sets.SESSION_LIVE, sets.SESSION_FINAL),
    ],
)
def test_open_and_final_sets_split_the_states(
    table: AnyTable, still_open: frozenset[str], final: frozenset[str]
) -> None:
    assert not still_open & final
    assert still_open | final == set(table.states)


def test_every_set_holds_states_of_its_machine() -> None:
    for name, value in vars(sets).items():
        if name.isupper() and isinstance(value, frozenset):
            table = next(t for t in TABLES.values() if name.startswith(t.name.upper() + "_"))
            assert value
            assert value <= set(table.states), name


def test_the_tables_and_their_drawings_never_import_the_library() -> None:
    program = (
        "import sys, agentctl.machines.draw as d, agentctl.machines.sets;"
        "from agentctl.machines.compiled import TASK; d.svg(TASK); d.markdown(TASK);"
        "print('statemachine' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "False"
