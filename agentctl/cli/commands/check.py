"""`agentctl check`."""

from __future__ import annotations

from agentctl.cli import options
from agentctl.cli.command import command, single
from agentctl.cli.console import Console

app = single()


@command(app, "check")
def check(
    console: Console,
    file: options.File,
    vars_file: options.VarsFiles = None,
    var: options.Vars = None,
    workspace: options.Workspace = None,
) -> int:
    """Compile a workflow or pack manifest, and show every problem with its place."""
    from agentctl.cli import loading, packs
    from agentctl.cli.paint import counted

    manifest = packs.manifest(file)
    if manifest is not None:
        console.result("CheckResult", manifest, lambda: packs.headline(file, manifest))
        return 0
    loaded = loading.load(loading.open_engine(console), file, workspace, vars_file, var)
    loading.show_warnings(console, loaded)
    data = loading.summary(loaded)
    count = len(loaded.plan.order)
    tasks = counted(count, "task")
    console.result(
        "CheckResult", data, lambda: f"{file}: valid: {loaded.plan.workflow_name}, {tasks}"
    )
    return 0
