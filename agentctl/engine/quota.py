"""What a run that waits for a provider's quota waits for, and until when.

Above: the end of a run, its view and what stands still. Below: its tasks. Pure.
Source: specification, section 11.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from attr import frozen

from agentctl.clock import iso
from agentctl.machines.names import TaskStates
from agentctl.value import Value

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agentctl.clock import Instant
    from agentctl.engine.records import TaskRecord
    from agentctl.jsonvalue import JsonObject


@frozen(kw_only=True, eq=False, repr=False)
class QuotaWait(Value):
    """The first task, in compiled order, that waits for a quota, and the time for all of them.

    `until` is None where a provider named no time for a quota that is spent.
    """

    task: TaskRecord
    until: Instant | None

    @property
    def words(self) -> str:
        """How long it lasts, in words."""
        if self.until is None:
            return "until its owner gives it more; the provider named no time"
        return f"until {iso(self.until)}"

    def is_over(self, now: Instant) -> bool:
        """Return whether the time has come that every provider named."""
        return self.until is not None and self.until <= now


def quota_wait(tasks: Iterable[TaskRecord]) -> QuotaWait | None:
    """Return what a run's tasks wait for, or None when none waits for a quota."""
    waiting = [one for one in tasks if one.state == TaskStates.waiting_for_quota]
    if not waiting:
        return None
    times = [one.due_at for one in waiting]
    known = [one for one in times if one is not None]
    return QuotaWait(
        task=min(waiting, key=lambda one: one.position),
        until=max(known) if len(known) == len(times) else None,
    )


def quota_error(wait: QuotaWait) -> JsonObject:
    """Return why a run waits: the provider's words, the task, and the time."""
    error = cast("JsonObject", wait.task.error)
    return {
        **error,
        "message": f"{error['message']}; waits {wait.words}",
        "taskId": wait.task.id,
        "waitUntil": None if wait.until is None else iso(wait.until),
    }
