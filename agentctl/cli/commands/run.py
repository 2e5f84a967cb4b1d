"""`agentctl run`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from agentctl.cli import options
from agentctl.cli.command import command, single
from agentctl.cli.console import Console

if TYPE_CHECKING:
    from agentctl.door import Engine
    from agentctl.engine.events import RunOutcome
    from agentctl.engine.plan import Plan
    from agentctl.jsonvalue import JsonObject
    from agentctl.loading import Loaded

app = single()

Check = Annotated[
    bool, typer.Option("--check", help="Only predict: write nothing, open no database.")
]
Diff = Annotated[bool, typer.Option("--diff", help="With --check: show what would change.")]
Locked = Annotated[bool, typer.Option("--locked", help="Refuse packs that the lock file lacks.")]
Offline = Annotated[bool, typer.Option("--offline", help="Fetch no packs.")]

Key = Annotated[
    str | None,
    typer.Option("--key", metavar="KEY", help="Start at most one run under this key."),
]


@command(app, "run", streams=True)
def run(
    console: Console,
    file: options.File,
    inputs: options.InputsJson = None,
    inputs_file: options.InputsFile = None,
    input: options.Inputs = None,
    vars_file: options.VarsFiles = None,
    var: options.Vars = None,
    workspace: options.Workspace = None,
    timeout_seconds: options.TimeoutSeconds = None,
    check: Check = False,
    diff: Diff = False,
    interactive: options.Interactive = False,
    locked: Locked = False,
    offline: Offline = False,
    key: Key = None,
) -> int:
    """Run a workflow to its end, or to the point where it waits for a person."""
    # Packs are only ever read from files here.
    del offline
    from agentctl.cli import given, loading, packs

    values = given.inputs(inputs, inputs_file, input)
    engine = loading.open_engine(console)
    try:
        loaded = loading.load(engine, file, workspace, vars_file, var)
        if locked:
            packs.require_lock(file, loaded)
        loading.show_warnings(console, loaded)
        base = loading.base_folder(file, workspace)
        if check:
            return _preview(console, engine, loaded, values, base, diff=diff)
        if not interactive:
            outcome = _start(console, engine, loaded, values, base, timeout_seconds, key=key)
            return _report(console, outcome)
        from agentctl.cli.approving import Approving, on_a_terminal

        asks = on_a_terminal(console)
        args = (console, engine, loaded, values, base, timeout_seconds, asks)
        if not asks:
            return _report(console, _start(*args, key=key))
        asking = Approving(console, engine, timeout_seconds)
        return _report(console, asking.drive(lambda: _start(*args, key=key)))
    finally:
        engine.close()


def _start(
    console: Console,
    engine: Engine,
    loaded: Loaded,
    values: JsonObject,
    base: str,
    timeout_seconds: float | None,
    interactive: bool = False,
    *,
    key: str | None,
) -> RunOutcome:
    from agentctl.cli.drive import drive
    from agentctl.cli.follow import following

    # A run that exists needs no credential to be looked at.
    if key is None or engine.started(loaded, inputs=values, key=key) is None:
        _require_credentials(loaded.plan, base)
    with following(console, engine, loaded.plan.order):
        return drive(
            console,
            engine,
            lambda: engine.start(
                loaded,
                inputs=values,
                workspace=base,
                timeout_seconds=timeout_seconds,
                interactive=interactive,
                key=key,
            ),
            needs_loop=loaded.needs_loop or timeout_seconds is not None,
        )


def _require_credentials(plan: Plan, base: str) -> None:
    """Look for credentials only where an agent could need one."""
    if any(task.uses_kind == "agent" for task in plan.tasks.values()):
        from agentctl.cli.loading import workspace_of
        from agentctl.cli.readiness import require_credentials

        require_credentials(plan, workspace_of(plan, base))


def _report(console: Console, outcome: RunOutcome) -> int:
    from agentctl.cli.outcome import report

    return report(console, outcome)


def _preview(
    console: Console,
    engine: Engine,
    loaded: Loaded,
    values: JsonObject,
    base: str,
    *,
    diff: bool,
) -> int:
    import asyncio

    from agentctl.cli.preview import human

    data = asyncio.run(engine.preview(loaded, inputs=values, workspace=base))
    console.result("RunPreview", data, lambda: human(data, diff=diff))
    return 0
