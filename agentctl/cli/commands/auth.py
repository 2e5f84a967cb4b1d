"""`agentctl auth`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentctl.cli import options
from agentctl.cli.command import command, make
from agentctl.cli.console import Console

if TYPE_CHECKING:
    from agentctl.cli.credentials import Found
    from agentctl.jsonvalue import JsonObject, JsonValue

app = make("auth", "Say whether the secrets of a workflow can be found.")

_MISSING_EXIT_CODE = 6


@command(app, "check")
def check(console: Console, file: options.File, workspace: options.Workspace = None) -> int:
    """Look each secret up, also by running its program, and never show a value."""
    import asyncio

    from agentctl.cli import loading
    from agentctl.cli.credentials import look_up

    loaded = loading.load(loading.open_engine(console), file, workspace)
    loading.show_warnings(console, loaded)
    folder = loading.workspace_of(loaded.plan, loading.base_folder(file, workspace))
    found = asyncio.run(look_up(loaded.plan, folder))
    is_ready = all(one.is_fine for one in found)
    listed: list[JsonValue] = [one.as_json() for one in found]
    data: JsonObject = {
        "ready": is_ready,
        "workflow": loaded.plan.workflow_name,
        "secrets": listed,
    }
    console.result("AuthCheck", data, lambda: _human(found))
    return 0 if is_ready else _MISSING_EXIT_CODE


def _human(found: list[Found]) -> str:
    from agentctl.cli.paint import table

    rows = [
        (one.credential.words, one.credential.source, one.status, one.problem or "")
        for one in found
    ]
    return table(("secret", "from", "status", "why"), rows) if rows else "no secrets"
