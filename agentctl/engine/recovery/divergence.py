"""Where a recorded history and what a workflow would produce now come apart.

Above: the rehearsal, which finds it, and the CLI, which tells it. Below: records and plans.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

from attr import define, field, frozen

from agentctl.value import Value

if TYPE_CHECKING:
    from agentctl.engine.plan import Plan
    from agentctl.engine.records import RunHistory
    from agentctl.engine.recovery.changes import Difference
    from agentctl.jsonvalue import JsonObject

What = Literal["inserted", "removed", "definition", "request", "approval", "outcome", "run"]

RUN_ITSELF: Final = ""


@frozen(eq=False, repr=False)
class Divergence(Value):
    """Where the history would be another one: the task ("" for the run) and what differs."""

    task_id: str
    what: What
    differences: tuple[Difference, ...] = ()

    def to_json(self) -> JsonObject:
        """Return the public form."""
        return {
            "taskId": self.task_id or None,
            "what": self.what,
            "differences": [one.to_json() for one in self.differences],
        }


@define(eq=False, repr=False)
class Rehearsal:
    """What a dry run found: `answered` effects, `compared` tasks, and differences in plan order."""

    source: RunHistory
    target: Plan
    found: list[Divergence] = field(factory=list)
    answered: int = 0
    compared: int = 0
    cut_short: bool = False

    @property
    def is_same(self) -> bool:
        """Whether the recorded history would be produced again, as far as it goes."""
        return not self.found

    def to_json(self) -> JsonObject:
        """Return the public form."""
        run = self.source.run
        return {
            "runId": run.id,
            "same": self.is_same,
            "recordedPlanDigest": run.plan_digest,
            "planDigest": self.target.plan_digest,
            "tasks": self.compared,
            "effects": self.answered,
            "first": self.found[0].to_json() if self.found else None,
            "differing": [one.task_id or None for one in self.found],
        }
