"""`agentctl doctor`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentctl.cli import options
from agentctl.cli.command import command, single
from agentctl.cli.console import Console

if TYPE_CHECKING:
    from agentctl.cli.readiness import Readiness
    from agentctl.jsonvalue import JsonObject, JsonValue

app = single()

_NOT_READY_EXIT_CODE = 6


@command(app, "doctor")
def doctor(console: Console, file: options.File, workspace: options.Workspace = None) -> int:
    """Look for the programs, folders and credentials a workflow needs; start nothing."""
    from agentctl.cli import loading
    from agentctl.cli.readiness import SCOPE, examine

    loaded = loading.load(loading.open_engine(console), file, workspace)
    seen = examine(
        loaded.plan, loading.workspace_of(loaded.plan, loading.base_folder(file, workspace))
    )
    checks: list[JsonValue] = [one.as_json() for one in seen.checks]
    unverified: list[JsonValue] = [one.as_json() for one in seen.unverified]
    data: JsonObject = {
        "ready": seen.is_ready,
        "workflow": loaded.plan.workflow_name,
        "scope": SCOPE,
        "checks": checks,
        "unverified": unverified,
    }
    console.result("DoctorResult", data, lambda: _human(seen))
    return 0 if seen.is_ready else _NOT_READY_EXIT_CODE


def _human(seen: Readiness) -> str:
    from agentctl.cli.paint import visible

    lines = [
        visible(f"{one.name}: {one.status} ({one.detail})")
        for one in (*seen.checks, *seen.unverified)
    ]
    if not seen.is_ready:
        lines.append("something is missing")
    return "\n".join([*lines, "execution readiness unverified: nothing was started"])
