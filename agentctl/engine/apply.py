"""The only way a record changes: look the event up in its machine and prove the move.

Above: decisions and recovery operations. Below: the machines' tables. Never: I/O.

A `Work` gathers the moves of one commit. The store writes it whole or not at all, and compares
each record's base version, so that two writers cannot both succeed.
"""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar, cast, overload

from attr import define, field, fields

from agentctl.engine.records import (
    ApprovalRecord,
    ArtifactRecord,
    CompensationRecord,
    EffectRecord,
    IterationRecord,
    MemoryWrite,
    ReconciliationRecord,
    RunRecord,
    StreamEvent,
    TaskRecord,
    Transition,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from agentctl.clock import Instant
    from agentctl.jsonvalue import JsonValue
    from agentctl.machines.names import (
        ApprovalEvent,
        ArtifactEvent,
        CompensationEvent,
        EffectEvent,
        IterationEvent,
        ReconciliationEvent,
        RunEvent,
        TaskEvent,
    )
    from agentctl.machines.table import Table

Record: TypeAlias = (
    "RunRecord | TaskRecord | EffectRecord | IterationRecord | ApprovalRecord"
    " | ReconciliationRecord | CompensationRecord | ArtifactRecord"
)
R = TypeVar("R", bound="Record")


def apply(
    record: R,
    events: Sequence[str],
    now: Instant,
    *,
    actor: str | None = None,
    detail: JsonValue = None,
    **changes: object,
) -> tuple[R, list[Transition]]:
    """Return the moved record and the transitions that prove it, one for each event.

    Raises IllegalTransition when the record's machine declares no such move.
    """
    # Each machine has its own event type; `Work` holds callers to the right one.
    table = cast("Table[str, str]", record.table)
    machine, entity = record.machine, record.entity
    state: str = record.state
    version = record.version
    proofs = []
    for event in events:
        source, state = state, table.step(state, event)
        version += 1
        proofs.append(
            Transition(
                machine=machine,
                entity=entity,
                version=version,
                event=event,
                source=source,
                target=state,
                at=now,
                actor=actor,
                detail=detail,
            )
        )
    if actor is not None and isinstance(record, ApprovalRecord | ReconciliationRecord):
        changes["actor"] = actor
    return _rebuilt(record, {**changes, "state": state, "version": version}), proofs


# attr.evolve looks every field up again on each call, and moving records is the hottest thing
# that the engine does.
_READERS: dict[type, tuple[tuple[str, ...], Callable[[object], tuple[object, ...]]]] = {
    cls: (names := tuple(one.name for one in fields(cls)), attrgetter(*names))
    for cls in (
        RunRecord,
        TaskRecord,
        EffectRecord,
        IterationRecord,
        ApprovalRecord,
        ReconciliationRecord,
        CompensationRecord,
        ArtifactRecord,
    )
}


def _rebuilt(record: R, changes: dict[str, object]) -> R:
    """Return the record with some fields changed."""
    cls: Any = type(record)
    names, read = _READERS[cls]
    return cast("R", cls(**{**dict(zip(names, read(record), strict=True)), **changes}))


class Change(NamedTuple):
    """A record to write, and the version that must still be stored (None: it is new)."""

    base: int | None
    record: Record


@define(eq=False, repr=False)
class Work:
    """One unit of work: moves, records, memory and stream events of a single commit."""

    transitions: list[Transition] = field(factory=list)
    changes: dict[tuple[str, str], Change] = field(factory=dict)
    memory: list[MemoryWrite] = field(factory=list)
    stream: list[StreamEvent] = field(factory=list)

    def __bool__(self) -> bool:
        """Return whether there is anything to write."""
        return bool(self.transitions or self.changes or self.memory or self.stream)

    def add(self, record: R) -> R:
        """Write a new record that has not moved yet."""
        self.changes[(record.machine, record.entity)] = Change(None, record)
        return record

    @overload
    def move(
        self, record: RunRecord, event: RunEvent, now: Instant, **changes: object
    ) -> RunRecord: ...
    @overload
    def move(
        self, record: TaskRecord, event: TaskEvent, now: Instant, **changes: object
    ) -> TaskRecord: ...
    @overload
    def move(
        self, record: EffectRecord, event: EffectEvent, now: Instant, **changes: object
    ) -> EffectRecord: ...
    @overload
    def move(
        self, record: IterationRecord, event: IterationEvent, now: Instant, **changes: object
    ) -> IterationRecord: ...
    @overload
    def move(
        self, record: ApprovalRecord, event: ApprovalEvent, now: Instant, **changes: object
    ) -> ApprovalRecord: ...
    @overload
    def move(
        self,
        record: ReconciliationRecord,
        event: ReconciliationEvent,
        now: Instant,
        **changes: object,
    ) -> ReconciliationRecord: ...
    def move(self, record: Record, event: str, now: Instant, **changes: Any) -> Record:
        """Apply an event and remember both the record and its proof.

        `actor` and `detail` go into the proof; everything else changes the record. A record
        that names who decided takes the actor, too.
        """
        return self._move(record, (event,), now, **changes)

    @overload
    def move_on(
        self, record: TaskRecord, events: Sequence[TaskEvent], now: Instant, **changes: object
    ) -> TaskRecord: ...
    @overload
    def move_on(
        self, record: EffectRecord, events: Sequence[EffectEvent], now: Instant, **changes: object
    ) -> EffectRecord: ...
    @overload
    def move_on(
        self,
        record: ArtifactRecord,
        events: Sequence[ArtifactEvent],
        now: Instant,
        **changes: object,
    ) -> ArtifactRecord: ...
    @overload
    def move_on(
        self,
        record: CompensationRecord,
        events: Sequence[CompensationEvent],
        now: Instant,
        **changes: object,
    ) -> CompensationRecord: ...
    def move_on(
        self, record: Record, events: Sequence[str], now: Instant, **changes: Any
    ) -> Record:
        """Apply several events at one instant; the record is made once, each move is proved."""
        return self._move(record, events, now, **changes)

    def _move(self, record: R, events: Sequence[str], now: Instant, **changes: Any) -> R:
        moved, proofs = apply(record, events, now, **changes)
        self.transitions += proofs
        key = (record.machine, record.entity)
        earlier = self.changes.get(key)
        self.changes[key] = Change(record.version if earlier is None else earlier.base, moved)
        return moved
