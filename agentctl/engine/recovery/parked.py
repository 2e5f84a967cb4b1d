"""A run that is not over and the file that it was started from: what changed, and the choices.

Above: the door and the CLI. Below: the comparison of plans. What a run goes by is its recorded
plan; a file that says something else shows that somebody decided anew, so a person chooses.
Source: specification, section 9.
"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Literal

from attr import frozen

from agentctl.engine.recovery.changes import UNCHANGED, tell
from agentctl.errors import WorkflowChanged
from agentctl.value import Value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentctl.diagnostics import Diagnostic
    from agentctl.engine.records import RunRecord
    from agentctl.engine.recovery.changes import PlanChanges, TaskChange
    from agentctl.jsonvalue import JsonObject

Status = Literal["same", "changed", "invalid", "missing", "noFile"]

_TOLD_MAX = 8


@frozen(eq=False, repr=False)
class Choice(Value):
    """One way to go on, with the commands that take it, in order."""

    name: str
    commands: tuple[str, ...]
    meaning: str

    def to_json(self) -> JsonObject:
        """Return the public form."""
        return {"choice": self.name, "commands": [*self.commands], "meaning": self.meaning}


@frozen(kw_only=True, eq=False, repr=False)
class WorkflowChanges(Value):
    """What became of the file that a run was started from.

    `same` also stands for a change that makes no difference to any run. `missing` is a file that
    is gone or cannot be read, `noFile` a run that came from text, and `invalid` a file that does
    not compile. `roots` are where a repair with the file as it is now would begin.
    """

    run: RunRecord
    status: Status
    path: str = ""
    plan_digest: str | None = None
    found: PlanChanges = UNCHANGED
    diagnostics: Sequence[Diagnostic] = ()
    roots: tuple[str, ...] = ()
    restarts: bool = False

    @property
    def stands_against(self) -> bool:
        """Whether a person should choose before the run goes on."""
        return self.status in ("changed", "invalid")

    @property
    def choices(self) -> tuple[Choice, ...]:
        """What can be done where something stands against going on."""
        if not self.stands_against:
            return ()
        run_id = self.run.id
        keep = Choice(
            "keep",
            (f"agentctl resume {run_id} --keep-plan",),
            "goes on with the recorded plan, whatever the file says",
        )
        fork = Choice(
            "fork",
            (f"agentctl fork {run_id}",),
            "does the recorded plan again in a new run, effects included",
        )
        return keep, self._repair(), fork

    def _repair(self) -> Choice:
        file = shlex.quote(self.path)
        roots = "".join(f" --from {shlex.quote(one)}" for one in self.roots or ("TASK",))
        restarts = " --restart-successful" if self.restarts else ""
        first = f"agentctl check {file}" if self.status == "invalid" else ""
        commands = (
            f"agentctl cancel {self.run.id}",
            f"agentctl repair {file} {self.run.id}{roots}{restarts}",
        )
        return Choice(
            "repair",
            (first, *commands) if first else commands,
            "ends this run and runs the file as it is now, taking over what serves again",
        )

    def refuse(self) -> None:
        """Raise WorkflowChanged where something stands against going on."""
        if self.stands_against:
            keep, repair, fork = ("`, then `".join(one.commands) for one in self.choices)
            raise WorkflowChanged(
                f"{self.path} is not what run {self.run.id} was started from: {self.told()}",
                help=f"keep the recorded plan: `{keep}`; repair: `{repair}`; fork: `{fork}`; "
                f"`agentctl resume {self.run.id} --plan` shows every difference",
                run_id=self.run.id,
            )

    def told(self) -> str:
        """Return all that changed in one line."""
        if self.status == "invalid":
            first = self.diagnostics[0]
            place = ":".join(str(one) for one in (first.line, first.column) if one is not None)
            more = len(self.diagnostics) - 1
            rest = f" (and {more} more)" if more else ""
            return f"it does not compile: {place}: {first.message}{rest}"
        lines = [tell_task(one) for one in self.found.tasks]
        lines += [tell(one) for one in self.found.parts]
        return "; ".join(lines)

    def to_json(self) -> JsonObject:
        """Return the public form of `resume --plan`, without the diagnostics."""
        return {
            "runId": self.run.id,
            "file": self.path or None,
            "status": self.status,
            "compatible": not self.stands_against,
            "recordedPlanDigest": self.run.plan_digest,
            "planDigest": self.plan_digest,
            "tasks": [one.to_json() for one in self.found.tasks],
            "parts": [one.to_json() for one in self.found.parts],
            "choices": [one.to_json() for one in self.choices],
        }


def tell_task(one: TaskChange) -> str:
    """Return one task's change in words."""
    if one.change == "inserted":
        return f"task {one.task_id} is new"
    if one.differences[0].now is None and not one.differences[0].place:
        return f"task {one.task_id} is gone"
    told = ", ".join(map(tell, one.differences[:_TOLD_MAX]))
    more = len(one.differences) - _TOLD_MAX
    rest = f", and {more} more" if more > 0 else ""
    return (
        f"task {one.task_id} {'moved' if one.change == 'reordered' else 'changed'} ({told}{rest})"
    )
