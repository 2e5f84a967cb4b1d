"""Bounded progress records of a provider's stream, persisted before more is read.

Above: the runner. Below: records. An attempt has a bounded number of records, and the last one
that it may have says that there were more. Source: specification, section 10.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from attr import define, field

from agentctl.engine.events import Event
from agentctl.engine.records import StreamEvent
from agentctl.jsonvalue import canonical, digest_text
from agentctl.limits import STREAM_EVENT_BYTES_MAX, STREAM_EVENTS_PER_ATTEMPT_MAX

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentctl.clock import Clock
    from agentctl.engine.ports import Emit
    from agentctl.engine.records import EffectRecord
    from agentctl.jsonvalue import JsonValue

# The record that stands for all that an attempt said after it.
TRUNCATED = "stream.truncated"


@define(eq=False, repr=False)
class StreamWriter:
    """Numbers stream records per attempt and holds them for the next commit.

    `counts` are the records that attempts have already, from whichever process.
    """

    clock: Clock
    counts: dict[tuple[str, int], int]
    _pending: list[StreamEvent] = field(factory=list)

    def emitter(self, effect: EffectRecord, persist: Callable[[], None]) -> Emit:
        """Return the function through which one effect's executor reports progress."""

        async def emit(
            event_type: str, payload: JsonValue, provider_sequence: int | None = None
        ) -> None:
            key = (effect.task_id, effect.attempt)
            sequence = self.counts.get(key, 0) + 1
            if sequence > STREAM_EVENTS_PER_ATTEMPT_MAX:
                return
            self.counts[key] = sequence
            if sequence == STREAM_EVENTS_PER_ATTEMPT_MAX:
                event_type, payload = TRUNCATED, {"records": sequence}
            self._pending.append(
                self._record(effect, sequence, event_type, payload, provider_sequence)
            )
            persist()

        return emit

    def take(self) -> list[StreamEvent]:
        """Return what was emitted since the last call."""
        taken, self._pending = self._pending, []
        return taken

    def _record(
        self,
        effect: EffectRecord,
        sequence: int,
        event_type: str,
        payload: JsonValue,
        provider_sequence: int | None,
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
            provider_sequence=provider_sequence,
            effect_id=effect.id,
            event_type=event_type,
            payload=payload,
            truncated=truncated or event_type == TRUNCATED,
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
        effect_id=one.effect_id,
        provider_sequence=one.provider_sequence,
        truncated=one.truncated,
    )
