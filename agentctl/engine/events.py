"""What an observer of a run sees: one event per stored transition, and the outcome at the end.

Events are sent after their commit, so nobody is told of something that a crash could undo.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from attr import field, frozen

from agentctl.machines.names import RunStates
from agentctl.value import Value

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import TypeAlias

    from agentctl.clock import Instant
    from agentctl.engine.records import RunMode
    from agentctl.jsonvalue import JsonObject, JsonValue
    from agentctl.machines.names import RunState

    Listener: TypeAlias = Callable[["Event"], None]

EXIT_CODES: Mapping[str, int] = {
    RunStates.succeeded: 0,
    RunStates.failed: 4,
    RunStates.budget_exceeded: 4,
    RunStates.cancelled: 130,
}
PARKED_EXIT_CODE = 3


@frozen(kw_only=True, eq=False, repr=False)
class Event(Value):
    """One thing that happened and is stored.

    `event_type` is `MACHINE.EVENT` for a transition (`task.succeed`), or the provider's own
    type for a stream record (`text.delta`), whose `machine`, `source` and `target` are empty.
    `sequence` is a transition's number in the run's journal, or counts the stream records of the
    task's attempt. The last three members are those of a stream record.
    """

    run_id: str
    sequence: int
    event_type: str
    machine: str
    entity: str
    source: str
    target: str
    attempt: int
    at: Instant
    payload: JsonValue = None
    source_run_id: str | None = None
    effect_id: str | None = None
    provider_sequence: int | None = None
    truncated: bool = False


@frozen(kw_only=True, eq=False, repr=False)
class RunOutcome(Value):
    """Where a run stands when the engine lets go of it; `tasks` counts tasks by state.

    `compensated_tasks` are those of its source that a compensation undid. `compensation` says
    what came of the compensation that a failed run began by itself. `existing` says that nothing
    was started, because a run had the start key.
    """

    run_id: str
    state: RunState
    mode: RunMode
    workflow_name: str
    plan_digest: str
    trace_id: str
    output: JsonValue = None
    error: JsonObject | None = None
    source_run_id: str | None = None
    tasks: Mapping[str, int] = field(factory=dict)
    reused_tasks: tuple[str, ...] = ()
    executed_tasks: tuple[str, ...] = ()
    compensated_tasks: tuple[str, ...] = ()
    compensation: JsonObject | None = None
    existing: bool = False

    @property
    def exit_code(self) -> int:
        """The process exit code that this outcome means."""
        return EXIT_CODES.get(self.state, PARKED_EXIT_CODE)
