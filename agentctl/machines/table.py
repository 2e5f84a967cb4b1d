"""`Table`: one compiled lifecycle, immutable and shared by every record of its kind.

Above it stand the engine, which moves records by `Table.step`, the store, which seeds the legal
edges from it, and `draw`. It never imports python-statemachine.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar, cast

from attr import field, frozen

from agentctl.errors import Bug, IllegalTransition
from agentctl.jsonvalue import digest
from agentctl.value import Value

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from agentctl.jsonvalue import JsonValue

S = TypeVar("S", bound=str)
E = TypeVar("E", bound=str)


@frozen(kw_only=True, eq=False, repr=False)
class Table(Value, Generic[S, E]):
    """The states, events and legal moves of one machine.

    The meanings name every state and event in order of declaration, the initial state first.
    `rows` maps a state to the target of each event that is legal there; a final state's is empty.
    A table is itself and no other: compare digests, not tables.
    """

    name: str
    meaning: str = field(repr=False)
    initial: S
    finals: frozenset[S]
    state_meanings: Mapping[S, str] = field(repr=False)
    event_meanings: Mapping[E, str] = field(repr=False)
    rows: Mapping[S, Mapping[E, S]] = field(repr=False)
    digest: str

    @property
    def states(self) -> tuple[S, ...]:
        """Every state, in order of declaration."""
        return tuple(self.state_meanings)

    @property
    def events(self) -> tuple[E, ...]:
        """Every event, in order of declaration."""
        return tuple(self.event_meanings)

    @property
    def edges(self) -> tuple[tuple[S, E, S], ...]:
        """Every legal move as source, event and target, in order of declaration."""
        return tuple(
            (source, event, target)
            for source, row in self.rows.items()
            for event, target in row.items()
        )

    def step(self, state: S, event: E) -> S:
        """Return the state that the event leads to.

        Raises IllegalTransition when the machine declares no such move, and Bug for a state that
        is not the machine's own.
        """
        try:
            return self.rows[state][event]
        except KeyError:
            raise self._refusal(state, event) from None

    def legal(self, state: S) -> tuple[E, ...]:
        """Return the events that are legal in a state, in order of declaration."""
        try:
            return tuple(self.rows[state])
        except KeyError:
            raise self._unknown(state) from None

    def is_final(self, state: S) -> bool:
        """Say whether nothing can follow a state."""
        if state not in self.rows:
            raise self._unknown(state)
        return state in self.finals

    def as_state(self, text: str) -> S:
        """Return a stored text as a state of this machine; raises Bug when it is none."""
        state = cast("S", text)
        if state not in self.rows:
            raise self._unknown(text)
        return state

    def as_event(self, text: str) -> E:
        """Return a stored text as an event of this machine; raises Bug when it is none."""
        event = cast("E", text)
        if event not in self.event_meanings:
            raise Bug(f"{self.name}: {text!r} is not an event of this machine")
        return event

    def _refusal(self, state: S, event: E) -> Exception:
        row = self.rows.get(state)
        if row is None:
            return self._unknown(state)
        return IllegalTransition(self.name, state, event, tuple(row))

    def _unknown(self, state: str) -> Bug:
        return Bug(f"{self.name}: {state!r} is not a state; known: {', '.join(self.states)}")


def table_digest(
    name: str, initial: str, finals: Iterable[str], rows: Mapping[str, Mapping[str, str]]
) -> str:
    """Return the SHA-256 over what decides a history: name, initial state, finals and edges.

    Order of declaration and meanings do not count.
    """
    edges = sorted((source, *move) for source, row in rows.items() for move in row.items())
    listed: list[JsonValue] = [list(edge) for edge in edges]
    ended: list[JsonValue] = [*sorted(finals)]
    return digest({"name": name, "initial": initial, "finals": ended, "edges": listed})
