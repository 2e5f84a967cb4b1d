"""What every task program gets and gives.

A program is sans-I/O. A pure one is a function from context to result. An effectful one is a
generator that yields `EffectRequest`s and is sent each confirmed result, or has an
`EffectError` thrown in; it ends by returning a result. Running it again with the recorded
results replays it exactly, which is all that resuming a task in mid-flight takes.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, TypeAlias

from attr import frozen

from agentctl.engine.ports import EffectRequest
from agentctl.errors import RunFailed
from agentctl.jsonvalue import JsonValue
from agentctl.value import Value

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentctl.engine.plan import PlanTask
    from agentctl.engine.policy import Policy
    from agentctl.engine.state import RunState
    from agentctl.engine.template import Scope
    from agentctl.jsonvalue import JsonObject


class TaskError(RunFailed):
    """A task failed for good: trying the same again would give the same."""

    code = "task_failed"

    def __init__(
        self,
        message: str,
        *,
        code: str = "",
        help: str | None = None,
        detail: JsonObject | None = None,
    ) -> None:
        super().__init__(message, help=help)
        self.kind = code or self.code
        self.detail = detail


@frozen(kw_only=True, eq=False, repr=False)
class TaskContext(Value):
    """A task that is about to run: its plan, its rendered input, and what it may see."""

    state: RunState
    task: PlanTask
    input: JsonObject
    scope: Scope
    memory: Mapping[str, JsonValue]
    policy: Policy

    @property
    def definitions(self) -> JsonObject:
        """The plan's definitions."""
        return self.state.plan.definitions


@frozen(kw_only=True, eq=False, repr=False)
class TaskResult(Value):
    """A task's output, and the working memory that it writes."""

    output: JsonValue
    memory: tuple[tuple[str, JsonValue], ...] = ()


Steps: TypeAlias = Generator[EffectRequest, JsonValue, TaskResult]


def record(
    output: JsonValue,
    *,
    changed: bool = False,
    before: JsonValue = None,
    after: JsonValue = None,
    diff: JsonValue = None,
    predictability: str = "fully_predictable",
) -> JsonObject:
    """Return the output record that every built-in action gives (specification, section 6)."""
    return {
        "status": "changed" if changed else "unchanged",
        "changed": changed,
        "before": before,
        "after": after,
        "diff": diff,
        "output": output,
        "predictability": predictability,
    }
