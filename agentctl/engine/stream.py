"""Bounded progress records of a provider's stream, persisted before more is read.

Above: the runner. Source: specification, section 10.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from attr import define, field

from agentctl.engine.events import Event
from agentctl.engine.records import StreamEvent
from agentctl.jsonvalue import canonical, digest_text
from agentctl.limits import STREAM_EVENT_BYTES_MAX, STREAM_EVENTS_PER_ATTEMPT_MAX

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from agentctl.clock import Clock
    from agentctl.engine.records import EffectRecord
    from agentctl.jsonvalue import JsonValue


@define(eq=False, repr=False)
class StreamWriter:
    """Numbers stream records per attempt and holds them for the next commit."""

    clock: Clock
    _counts: dict[tuple[str, int], int] = field(factory=dict)
    _pending: list[StreamEvent] = field(factory=list)

    def emitter(
        self, effect: EffectRecord, persist: Callable[[], None]
    ) -> Callable[[str, JsonValue], Awaitable[None]]:
        """Return the function through which one effect's executor reports progress."""

        async def emit(event_type: str, payload: JsonValue) -> None:
            key = (effect.task_id, effect.attempt)
            sequence = self._counts.get(key, 0) + 1
            if sequence > STREAM_EVENTS_PER_ATTEMPT_MAX:
                return
            self._counts[key] = sequence
            self._pending.append(self._record(effect, sequence, event_type, payload))
            persist()

        return emit

    def take(self) -> list[StreamEvent]:
        """Return what was emitted since the last call."""
        taken, self._pending = self._pending, []
        return taken

    def _record(
        self, effect: EffectRecord, sequence: int, event_type: str, payload: JsonValue
    ) -> StreamEvent:
        text = canonical(payload)
        size_bytes = len(text.encode())
        truncated = size_bytes > STREAM_EVENT_BYTES_MAX
        if truncated:
            payload = {"bytes": size_bytes, "sha256": digest_text(text)}
        return StreamEvent(
            task_id=effect.task_id,
            attempt=effect.attempt,
            sequence=sequence,
            effect_id=effect.id,
            event_type=event_type,
            payload=payload,
            truncated=truncated,
            at=self.clock.now(),
        )


def stream_event(run_id: str, source_run_id: str | None, one: StreamEvent) -> Event:
    """Return a stored stream record as an observer sees it."""
    return Event(
        run_id=run_id,
        sequence=one.sequence,
        event_type=one.event_type,
        machine="",
        entity=one.task_id,
        source="",
        target="",
        attempt=one.attempt,
        at=one.at,
        payload=one.payload,
        source_run_id=source_run_id,
    )
