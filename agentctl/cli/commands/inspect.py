"""`agentctl inspect`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from agentctl.cli import options
from agentctl.cli.command import command, single
from agentctl.cli.console import Console

if TYPE_CHECKING:
    from agentctl.engine.records import RunHistory
    from agentctl.engine.stillness import Stillness
    from agentctl.jsonvalue import JsonObject
    from agentctl.store.sqlite import SqliteStore

app = single()

Diagram = Annotated[
    bool, typer.Option("--diagram", help="Draw the plan with what happened to each task.")
]
Format = Annotated[
    options.GraphFormat | None,
    typer.Option("--format", help="The kind of drawing. [default: mermaid]"),
]

RunId = Annotated[
    str | None, typer.Argument(metavar="[RUN]", help="A run id.", show_default=False)
]
ExportFile = Annotated[
    str | None,
    typer.Option("--file", metavar="FILE", help="An exported run, instead of one here."),
]


@command(app, "inspect")
def inspect(
    console: Console,
    run_id: RunId = None,
    diagram: Diagram = False,
    format: Format = None,
    file: ExportFile = None,
) -> int:
    """Show everything that is stored about a run, and what can be done now."""
    from agentctl.errors import UsageError

    if (run_id is None) == (file is None):
        raise UsageError("give either a run id or --file")
    if format is not None and not diagram:
        raise UsageError("--format says how to draw; add --diagram")
    drawing: options.GraphFormat | None = (format or "mermaid") if diagram else None
    if file is not None:
        return _inspect_file(console, file, drawing)
    assert run_id is not None
    from agentctl.cli.drive import about
    from agentctl.cli.holding import is_alive
    from agentctl.cli.loading import open_existing
    from agentctl.clock import SystemClock
    from agentctl.engine.stillness import stillness

    engine = open_existing(console)
    try:
        history = about(console, engine, run_id)
        holder = engine.store.holder(run_id)
        still = stillness(history, is_held=is_alive(holder), now=SystemClock().now())
        return _show(console, engine.store, history, drawing, still, holder)
    finally:
        engine.close()


def _inspect_file(console: Console, file: str, drawing: options.GraphFormat | None) -> int:
    """Show an exported run; what can be done with it is up to the database that has it."""
    from agentctl.store.portable import opened

    with opened(file) as (store, portable):
        console.run_id = portable.run_id
        return _show(console, store, store.load_run(portable.run_id), drawing)


def _show(
    console: Console,
    store: SqliteStore,
    history: RunHistory,
    drawing: options.GraphFormat | None,
    still: Stillness | None = None,
    holder: JsonObject | None = None,
) -> int:
    if drawing is not None:
        return _draw(console, history, drawing)
    from agentctl.cli.summary import human
    from agentctl.engine.view import inspect_view

    run_id = history.run.id
    view = inspect_view(
        history,
        store.transitions(run_id),
        stream=store.stream_events(run_id),
        holder=holder,
        start_key=store.start_key_of(run_id),
    )
    view["stillness"] = still.as_json() if still else None
    colour = console.uses_colour()
    console.result(
        "RunInspection",
        view,
        lambda: human(history, still, view, colour=colour, verbose=console.verbose),
    )
    return 0


def _draw(console: Console, history: RunHistory, form: options.GraphFormat) -> int:
    from agentctl.engine.graph import draw_plan
    from agentctl.engine.plan import plan_from_json

    states = {task.id: task.state for task in history.tasks}
    text = draw_plan(plan_from_json(history.plan), form, states)
    data = {"runId": history.run.id, "format": form, "text": text}
    console.result("RunDiagram", {**data}, lambda: text)
    return 0
