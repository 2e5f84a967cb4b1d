"""`Desk`: what a handler works on — the call, the entities as they are, the moves it makes.

Above: the handlers. Below: entities and their machines. A handler writes nothing by itself: its
moves are gathered here and stored together with the call's result, or not at all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, cast

from attr import define, field, frozen

from agentctl.engine.entities import MACHINES, Entity, EntityMove, moved
from agentctl.errors import IllegalTransition
from agentctl.jsonvalue import digest_text
from agentctl.value import Value

if TYPE_CHECKING:
    from agentctl.clock import Instant
    from agentctl.engine.entities import EntityEvent, EntityKind, EntityView
    from agentctl.jsonvalue import JsonObject, JsonValue

RefusalCode = Literal[
    "input_invalid", "operation_refused", "operation_unsupported", "policy_denied"
]


class Refused(Exception):
    """A call that may be made but cannot be carried out; nothing has changed.

    `reason` is stable; `detail` says what the caller needs to do better.
    """

    def __init__(
        self, reason: str, *, code: RefusalCode = "operation_refused", **detail: JsonValue
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.code = code
        self.detail = detail


@frozen(kw_only=True, eq=False, repr=False)
class Call(Value):
    """One call of an operation that was allowed.

    `task_id` is the assignment that it is made for, `brief` what that was asked to do.
    `agents` and `secrets` (by name) are those of the caller's workflow. `authorization` is the record of why the call is allowed. `sequence` counts within the run.
    """

    operation: str
    given: JsonObject
    key: str
    run_id: str
    task_id: str
    actor: str
    role: str
    mode: str
    sequence: int = 0
    brief: JsonValue = None
    agents: tuple[JsonObject, ...] = ()
    secrets: tuple[str, ...] = ()
    authorization: JsonObject = field(factory=dict)


@define(eq=False, repr=False)
class Desk:
    """One call at work."""

    view: EntityView
    call: Call
    now: Instant
    moves: list[EntityMove] = field(factory=list)

    def entity(self, kind: EntityKind, id: str) -> Entity | None:
        """Return an entity with the moves of this call."""
        latest = (one.entity for one in reversed(self.moves))
        made = next((one for one in latest if (one.kind, one.id) == (kind, id)), None)
        return made or self.view.entity(kind, id)

    def require(self, kind: EntityKind, id: str, *, owner: str | None = None) -> Entity:
        """Return an entity that must be there, and be its owner's. Raises Refused."""
        found = self.entity(kind, id)
        if found is None or owner not in (None, found.owner):
            raise Refused(f"unknown_{kind}", id=id)
        return found

    def assignment(self) -> Entity:
        """Return the caller's own assignment; its first call that needs one opens it."""
        call = self.call
        found = self.entity("assignment", call.task_id)
        if found is not None:
            return found
        body: JsonObject = {
            "title": call.task_id.rpartition("/")[2],
            "assigneeActorId": call.actor,
            "blockedByTaskIds": [],
        }
        return self.create("assignment", body, id=call.task_id, owns_itself=True)

    def create(
        self,
        kind: EntityKind,
        body: JsonObject,
        *,
        owner: str = "",
        id: str | None = None,
        owns_itself: bool = False,
    ) -> Entity:
        """Make an entity; without an id of its own it gets one that a repetition gets as well."""
        place = f"{self.call.key}\n{kind}\n{len(self.moves)}"
        named = id or f"{kind}-{digest_text(place)[:16]}"
        made = Entity(
            kind=kind,
            id=named,
            owner=named if owns_itself else owner,
            state=MACHINES[kind].initial,
            revision=1,
            body=body,
            created_at=self.now,
            updated_at=self.now,
        )
        self._add(made, None, None)
        return made

    def move(self, entity: Entity, event: EntityEvent, body: JsonObject | None = None) -> Entity:
        """Make an entity's next revision. Raises Refused where its machine has no such move."""
        try:
            after = moved(entity, event, self.now, body)
        except IllegalTransition:
            legal: list[JsonValue] = [*entity.table.legal(entity.state)]
            raise Refused(
                f"{entity.kind}_not_open", state=entity.state, event=event, possible=legal
            ) from None
        self._add(after, event, entity.state)
        return after

    def _add(self, entity: Entity, event: str | None, source: str | None) -> None:
        call = self.call
        self.moves.append(
            EntityMove(
                entity=entity,
                event=event,
                source=source,
                actor=call.actor,
                run_id=call.run_id,
                operation=call.operation,
            )
        )


def texts(value: JsonValue) -> list[str]:
    """Return a list of texts that a schema has checked; absent is none."""
    return cast("list[str]", value or [])


def text_of(given: JsonObject, name: str) -> str:
    """Return a text that a schema has checked."""
    return cast("str", given[name])
