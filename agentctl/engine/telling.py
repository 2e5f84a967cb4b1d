"""Stored transitions as an observer sees them, whoever wrote them and whenever they are read.

Above: the runner, which tells what it has written, and `agentctl watch`, which reads it. Below:
records. Both give the same events for the same journal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from attr import define, field

from agentctl.engine.events import Event
from agentctl.machines.names import TaskStates

if TYPE_CHECKING:
    from agentctl.engine.records import RunRecord, Transition


@define(eq=False, repr=False)
class Teller:
    """Turns one run's transitions into events, in order; `attempts` are those made before."""

    run: RunRecord
    attempts: dict[str, int] = field(factory=dict)

    def move(self, sequence: int, one: Transition) -> Event:
        """Return the event of one transition; `sequence` is its number in the journal."""
        starts = one.source == TaskStates.ready and one.target == TaskStates.running
        if starts and one.machine == "task":
            self.attempts[one.entity] = self.attempts.get(one.entity, 0) + 1
        return Event(
            run_id=self.run.id,
            sequence=sequence,
            event_type=f"{one.machine}.{one.event}",
            machine=one.machine,
            entity=one.entity,
            source=one.source,
            target=one.target,
            attempt=self.attempts.get(one.entity, 0),
            at=one.at,
            payload=one.detail,
            source_run_id=self.run.source_run_id,
        )
