"""The tree of commands, by name; a command's module is imported when it is invoked.

Above: `main`. Below: the command modules.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

import typer
from typer.main import get_command

from agentctl.cli.coerce import PlainGroup
from agentctl.cli.command import make

if TYPE_CHECKING:
    from typer._click import Command, Context

# In the order of `agentctl --help`: the first steps, then looking, then deciding, then the rest.
COMMANDS: Final = (
    "check",
    "plan",
    "run",
    "resume",
    "retry",
    "repair",
    "fork",
    "compensate",
    "replay",
    "cancel",
    "runs",
    "inspect",
    "watch",
    "explain",
    "approvals",
    "requests",
    "effects",
    "reconcile",
    "artifacts",
    "agents",
    "tools",
    "verify",
    "export",
    "import",
    "gc",
    "db",
    "doctor",
    "auth",
    "providers",
    "machines",
    "schema",
    "migrate",
    "completion",
    "version",
)
_HELP: Final = "Run durable workflows: compiled, journaled, resumable and explainable."


class LazyGroup(PlainGroup):
    """The root group, which knows its commands without importing them."""

    def list_commands(self, ctx: Context) -> list[str]:
        """Return the names of all commands."""
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: Context, cmd_name: str) -> Command | None:
        """Import and return a command, or None when there is none of that name."""
        del ctx
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f"agentctl.cli.commands.{cmd_name}")
        app = module.app
        if not isinstance(app, typer.Typer):
            raise TypeError(f"{module.__name__}.app is not a Typer app")
        made = get_command(app)
        made.name = cmd_name
        return made


def build() -> Command:
    """Return the root command."""
    root = make("agentctl", _HELP)
    root.info.cls = LazyGroup
    return get_command(root)
