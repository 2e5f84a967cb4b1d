"""What the control plane keeps: entities with a lifecycle, every revision of them, and its port.

Above: the handlers of the catalog, and the commands. Below: the machines; the store provides the
port. An entity lives longer than the run that made it, so it belongs to the database and not to
a run's journal: its revisions are its journal, each one proven by an edge of its machine.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol, TypeAlias, TypeVar

from attr import evolve, frozen

from agentctl.machines.compiled import (
    APPROVAL,
    ASSIGNMENT,
    CASE,
    DOCUMENT,
    ENTRY,
    REQUEST,
    REVIEW,
    ROUTINE,
    SERVICE,
)
from agentctl.value import Value

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from agentctl.clock import Instant
    from agentctl.jsonvalue import JsonObject, JsonValue
    from agentctl.machines.names import (
        ApprovalEvent,
        AssignmentEvent,
        CaseEvent,
        DocumentEvent,
        EntryEvent,
        RequestEvent,
        ReviewEvent,
        RoutineEvent,
        ServiceEvent,
    )
    from agentctl.machines.table import Table

    EntityEvent: TypeAlias = (
        ApprovalEvent
        | AssignmentEvent
        | CaseEvent
        | DocumentEvent
        | EntryEvent
        | RequestEvent
        | ReviewEvent
        | RoutineEvent
        | ServiceEvent
    )

T = TypeVar("T")

EntityKind = Literal[
    "assignment",
    "document",
    "review",
    "request",
    "approval",
    "case",
    "routine",
    "service",
    "note",
    "deliverable",
    "goal",
    "project",
    "agent",
    "skill",
    "secret",
    "export",
]
# Kinds without a life of their own share the machine of entries.
MACHINES: Final[Mapping[EntityKind, Table[Any, Any]]] = MappingProxyType(
    {
        "assignment": ASSIGNMENT,
        "document": DOCUMENT,
        "review": REVIEW,
        "request": REQUEST,
        "approval": APPROVAL,
        "case": CASE,
        "routine": ROUTINE,
        "service": SERVICE,
        "note": ENTRY,
        "deliverable": ENTRY,
        "goal": ENTRY,
        "project": ENTRY,
        "agent": ENTRY,
        "skill": ENTRY,
        "secret": ENTRY,
        "export": ENTRY,
    }
)


@frozen(kw_only=True, eq=False, repr=False)
class Entity(Value):
    """One thing that the control plane keeps, as it is now.

    `owner` is the assignment that it belongs to, or "" for the whole company; an assignment owns
    itself. `revision` counts from 1, and every move makes the next one.
    """

    kind: EntityKind
    id: str
    owner: str
    state: str
    revision: int
    body: JsonObject
    created_at: Instant
    updated_at: Instant

    @property
    def table(self) -> Table[Any, Any]:
        """The machine that its kind lives by."""
        return MACHINES[self.kind]

    @property
    def is_final(self) -> bool:
        """Whether nothing can follow."""
        return self.table.is_final(self.state)


@frozen(kw_only=True, eq=False, repr=False)
class EntityMove(Value):
    """One revision: the entity as it then was, and what made it so.

    `event` and `source` are None for the first revision. `operation` is the catalog's, or that
    of the command that a person gave.
    """

    entity: Entity
    event: str | None
    source: str | None
    actor: str
    run_id: str
    operation: str


@frozen(kw_only=True, eq=False, repr=False)
class OperationKey(Value):
    """What one call is known by: a repeated key must come with the same request."""

    key: str
    run_id: str
    operation: str
    request_digest: str


@frozen(eq=False, repr=False)
class Performed(Value):
    """What a call answers, and the revisions it makes; both are kept, or neither."""

    result: JsonObject
    moves: tuple[EntityMove, ...] = ()


class EntityView(Protocol):
    """Reads entities in one consistent snapshot."""

    def entity(self, kind: EntityKind, id: str) -> Entity | None:
        """Return one entity."""
        ...

    def entities(self, kind: EntityKind, owner: str | None = None) -> list[Entity]:
        """Return all of a kind, of one owner or of all, oldest first."""
        ...

    def revisions(self, kind: EntityKind, id: str) -> list[EntityMove]:
        """Return every revision of one entity, oldest first."""
        ...

    def history(self, owner: str, limit: int) -> list[EntityMove]:
        """Return the newest revisions of all that an assignment owns, newest first."""
        ...

    def result(self, run_id: str, key: str) -> JsonValue:
        """Return what a call of a run has answered, or None when it has not."""
        ...


class EntityStore(Protocol):
    """Keeps entities; every change is one transaction together with its call's result."""

    def look(self, act: Callable[[EntityView], T]) -> T:
        """Return what `act` makes of a snapshot."""
        ...

    def perform(
        self, key: OperationKey, act: Callable[[EntityView], Performed], now: Instant
    ) -> JsonObject:
        """Carry a call out once, and return its result; a repetition returns it again.

        Raises KeyReused when the key was used for another request, and StoreError.
        """
        ...


def moved(entity: Entity, event: EntityEvent, now: Instant, body: JsonObject | None) -> Entity:
    """Return the next revision. Raises IllegalTransition when the machine has no such move."""
    return evolve(
        entity,
        state=entity.table.step(entity.state, event),
        revision=entity.revision + 1,
        body=entity.body if body is None else body,
        updated_at=now,
    )
