"""Loading a workflow file for a command, with what the command line adds.

Above: `check`, `plan`, `run`, `explain`, `doctor`. Below: the `Engine`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentctl.cli import given
from agentctl.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from agentctl.cli.console import Console
    from agentctl.door import Engine
    from agentctl.engine.plan import Plan
    from agentctl.engine.records import RunHistory
    from agentctl.jsonvalue import JsonObject
    from agentctl.loading import Loaded


def open_engine(console: Console) -> Engine:
    """Return an engine over the console's database; nothing is opened before it is needed."""
    from agentctl.door import Engine

    return Engine(
        console.db,
        durability=console.durability,
        shared_filesystem=console.shared_filesystem,
    )


def open_existing(console: Console) -> Engine:
    """Return an engine over a database that exists. Raises UsageError when there is none."""
    import os.path

    if not os.path.lexists(console.db):
        raise UsageError(
            f"there is no database at {console.db}",
            help="name it with --db, or run a workflow first",
        )
    return open_engine(console)


def load(
    engine: Engine,
    file: str,
    workspace: str | None = None,
    vars_files: Sequence[str] | None = None,
    pairs: Sequence[str] | None = None,
) -> Loaded:
    """Compile a file. Raises DocumentError with every problem, or UsageError."""
    from pathlib import Path

    if "\0" in file:
        raise UsageError("a file name cannot hold a NUL character")
    return engine.load(
        Path(file),
        workspace=base_folder(file, workspace),
        vars_files=list(vars_files or ()),
        variables=given.variables(pairs),
    )


def show_warnings(console: Console, loaded: Loaded) -> None:
    """Tell a person what the compiler warns of."""
    if loaded.warnings and console.is_human:
        import sys

        from agentctl.cli import problems

        console.note(problems.render(loaded.warnings, colour=console.uses_colour(sys.stderr)))


def summary(loaded: Loaded) -> JsonObject:
    """Return what `check` says of a valid workflow."""
    from agentctl.cli import problems

    plan = loaded.plan
    return {
        "valid": True,
        "workflow": plan.workflow_name,
        "migratedLegacy": loaded.legacy,
        "tasks": len(plan.order),
        "workflowDigest": plan.workflow_digest,
        "planDigest": plan.plan_digest,
        "predictability": plan.predictability,
        "warnings": problems.as_json(loaded.warnings),
    }


def base_folder(file: str, workspace: str | None) -> str:
    """Return the folder that `policy.workspaceRoot` starts from: by default the file's own."""
    import os.path

    return workspace if workspace is not None else os.path.dirname(file) or "."


def workspace_of(plan: Plan, base: str) -> Path:
    """Return the folder a workflow works in."""
    from pathlib import Path

    policy = plan.definitions.get("policy")
    root = policy.get("workspaceRoot") if isinstance(policy, dict) else None
    return Path(base) / (root if isinstance(root, str) else ".")


def require_same_folder(history: RunHistory, workspace: str) -> None:
    """Raise UsageError unless the folder is the one the run was started in."""
    import os.path

    from agentctl.engine.plan import plan_from_json

    given = os.path.realpath(workspace_of(plan_from_json(history.plan), workspace))
    if given != history.run.workspace:
        raise UsageError(
            f"run {history.run.id} works in {history.run.workspace}, not in {given}",
            help="leave --workspace out: a run keeps the folder it was started in",
            run_id=history.run.id,
        )
