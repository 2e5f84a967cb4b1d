"""The compiler of tables refuses whatever a flat table cannot say."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from attr import asdict
from statemachine import Event, State, StateChart, StateMachine

from agentctl.machines import generate
from agentctl.machines.compile import NotCompilable, compile_table
from agentctl.machines.compiled import TABLES

if TYPE_CHECKING:
    from pathlib import Path


def test_the_generated_tables_equal_the_declarations_word_for_word() -> None:
    for machine, kept in zip(generate.declarations(), TABLES.values(), strict=True):
        made = compile_table(machine)
        assert asdict(made, recurse=False) == asdict(kept, recurse=False)
        assert list(made.state_meanings.items()) == list(kept.state_meanings.items())
        assert list(made.event_meanings.items()) == list(kept.event_meanings.items())
        assert made.edges == kept.edges


def test_the_generated_files_are_up_to_date() -> None:
    assert generate.main(["--check"]) == 0


def test_a_stale_file_is_named_and_then_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(generate, "_FOLDER", tmp_path)
    assert generate.main(["--check"]) == 1
    assert "names.py is out of date" in capsys.readouterr().out
    assert not list(tmp_path.iterdir())
    assert generate.main([]) == 0
    assert generate.main(["--check"]) == 0


class Guarded(StateMachine):
    """A condition on an edge."""

    a = State(initial=True)
    b = State(final=True)
    go = a.to(b, cond="allowed")
    allowed = True


class Validated(StateMachine):
    """A validator on an edge."""

    a = State(initial=True)
    b = State(final=True)
    go = a.to(b, validators="check")

    def check(self) -> None:
        """Accept everything."""


class Acting(StateMachine):
    """An action on an edge."""

    a = State(initial=True)
    b = State(final=True)
    go = a.to(b, on="work")

    def work(self) -> None:
        """Do nothing."""


class ActingByName(StateMachine):
    """An action that the library finds by its name."""

    a = State(initial=True)
    b = State(final=True)
    go = a.to(b)

    def on_go(self) -> None:
        """Do nothing."""


class Entering(StateMachine):
    """An action on entering a state, found by its name."""

    a = State(initial=True)
    b = State(final=True)
    go = a.to(b)

    def on_enter_b(self) -> None:
        """Do nothing."""


class Ambiguous(StateMachine):
    """Two edges for one event."""

    a = State(initial=True)
    b = State(final=True)
    c = State(final=True)
    go = a.to(b) | a.to(c)


class Numbered(StateMachine):
    """A state stored as a number."""

    a = State(initial=True, value=1)
    b = State(final=True)
    go = a.to(b)


class Eventless(StateChart[None]):
    """An edge that needs no event."""

    a = State(initial=True)
    b = State()
    c = State(final=True)
    go = a.to(b)
    b.to(c)


class Nested(StateChart[None]):
    """A state within a state."""

    class outer(State.Compound):
        """The state around."""

        inner = State(initial=True)
        other = State()
        move = inner.to(other)

    end = State(final=True)
    go = outer.to(end)


class Parallel(StateChart[None]):
    """Two states at a time."""

    class both(State.Parallel):
        """The state around."""

        class left(State.Compound):
            """One half."""

            a = State(initial=True)
            b = State(final=True)
            go = a.to(b)

        class right(State.Compound):
            """The other half."""

            c = State(initial=True)
            d = State(final=True)
            come = c.to(d)


@pytest.mark.parametrize(
    ("machine", "reason"),
    [
        (Guarded, "carries the callback 'allowed'"),
        (Validated, "carries the callback 'check'"),
        (Acting, "carries the callback 'work'"),
        (ActingByName, "carries the callback 'on_go'"),
        (Entering, "carries the callback 'on_enter_b'"),
        (Ambiguous, "two edges for event 'go'"),
        (Numbered, "not a text"),
        (Eventless, "eventless"),
        (Nested, "nested"),
        (Parallel, "nested"),
    ],
)
def test_a_declaration_that_is_not_flat_is_refused(
    machine: type[StateMachine], reason: str
) -> None:
    with pytest.raises(NotCompilable, match=reason):
        compile_table(machine)


def test_a_flat_declaration_compiles_with_stored_names_and_meanings() -> None:
    class Door(StateMachine):
        """A door opens once."""

        shut = State("nobody came", initial=True)
        opened = State("somebody came", value="open", final=True)
        open = Event(shut.to(opened), name="a push")

    door = compile_table(Door)
    assert (door.name, door.meaning) == ("door", "A door opens once.")
    assert door.edges == (("shut", "open", "open"),)
    assert door.state_meanings == {"shut": "nobody came", "open": "somebody came"}
    assert door.event_meanings == {"open": "a push"}
