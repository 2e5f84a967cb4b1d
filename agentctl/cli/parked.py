"""What changed under a run that waits, for people and for programs.

Above: `resume`. Below: the engine's comparison of plans.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from agentctl.cli.paint import visible
from agentctl.engine.recovery.changes import tell
from agentctl.engine.recovery.parked import tell_task
from agentctl.errors import StateError
from agentctl.machines.sets import RUN_FINAL

if TYPE_CHECKING:
    from agentctl.cli.console import Console
    from agentctl.door import Engine
    from agentctl.engine.records import RunRecord
    from agentctl.engine.recovery.parked import WorkflowChanges

_WORDS = {
    "same": "says what the run goes by",
    "changed": "says something else than the run goes by",
    "invalid": "does not compile",
    "missing": "is gone, or cannot be read",
}


def require_unchanged(console: Console, engine: Engine, run: RunRecord) -> None:
    """Raise WorkflowChanged where a person should choose first; note what cannot be compared."""
    if run.state in RUN_FINAL:
        return
    found = engine.changes(run.id)
    found.refuse()
    if found.status in ("missing", "noFile"):
        console.note(f"{visible(_headline(found))}; the recorded plan goes on")


def show_changes(console: Console, engine: Engine, run: RunRecord) -> int:
    """Write the comparison; one that stands against going on leaves with 3.

    Raises StateError for a run that is over.
    """
    if run.state in RUN_FINAL:
        raise StateError(
            f"run {run.id} is {run.state}; only a run that is not over can be resumed",
            help="`agentctl repair FILE RUN --plan` compares a run that is over",
            run_id=run.id,
        )
    from agentctl.cli.problems import as_json

    found = engine.changes(run.id)
    data = found.to_json()
    data["diagnostics"] = as_json(found.diagnostics)
    console.result("ResumePlan", data, lambda: _human(console, found))
    return StateError.exit_code if found.stands_against else 0


def _headline(found: WorkflowChanges) -> str:
    if found.status == "noFile":
        return f"run {found.run.id} was not started from a file"
    return f"{found.path} {_WORDS[found.status]}"


def _human(console: Console, found: WorkflowChanges) -> str:
    lines = [visible(_headline(found))]
    lines += [f"  {visible(tell_task(one))}" for one in found.found.tasks]
    lines += [f"  {visible(tell(one))}" for one in found.found.parts]
    if found.diagnostics:
        from agentctl.cli import problems

        colour = console.uses_colour(sys.stdout)
        lines.append(problems.render(found.diagnostics, colour=colour))
    for one in found.choices:
        lines.append(f"{one.name}: {one.meaning}")
        lines += [f"  {visible(command)}" for command in one.commands]
    if not found.choices:
        lines.append(f"`agentctl resume {found.run.id}` goes on with the recorded plan")
    return "\n".join(lines)
