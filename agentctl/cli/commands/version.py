"""`agentctl version`."""

from __future__ import annotations

from agentctl.cli.command import command, single
from agentctl.cli.console import Console

app = single()


@command(app, "version")
def version(console: Console) -> int:
    """Show the version of agentctl and of what it runs on."""
    import sys

    from agentctl.version import VERSION

    python = ".".join(str(part) for part in sys.version_info[:3])
    data = {"version": VERSION, "python": python, "platform": sys.platform}
    console.result("Version", {**data}, lambda: f"agentctl {VERSION} (Python {python})")
    return 0
