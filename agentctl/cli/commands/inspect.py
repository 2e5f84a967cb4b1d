"""`agentctl inspect`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from agentctl.cli import options
from agentctl.cli.command import command, single
from agentctl.cli.console import Console

if TYPE_CHECKING:
    from agentctl.engine.records import RunHistory

app = single()

Diagram = Annotated[
    options.GraphFormat | None,
    typer.Option("--diagram", help="Draw the plan with what happened to each task."),
]


@command(app, "inspect")
def inspect(console: Console, run_id: options.RunId, diagram: Diagram = None) -> int:
    """Show everything that is stored about a run, and what can be done now."""
    from agentctl.cli.drive import about
    from agentctl.cli.holding import is_alive
    from agentctl.cli.loading import open_existing
    from agentctl.cli.summary import human
    from agentctl.clock import SystemClock
    from agentctl.engine.stillness import stillness
    from agentctl.engine.view import inspect_view

    engine = open_existing(console)
    try:
        history = about(console, engine, run_id)
        if diagram is not None:
            return _draw(console, history, diagram)
        holder = engine.store.holder(run_id)
        still = stillness(history, is_held=is_alive(holder), now=SystemClock().now())
        view = inspect_view(
            history,
            engine.store.transitions(run_id),
            stream=engine.store.stream_events(run_id),
            holder=holder,
        )
        view["stillness"] = still.as_json() if still else None
        colour = console.uses_colour()
        console.result(
            "RunInspection",
            view,
            lambda: human(history, still, view, colour=colour, verbose=console.verbose),
        )
        return 0
    finally:
        engine.close()


def _draw(console: Console, history: RunHistory, form: options.GraphFormat) -> int:
    from agentctl.engine.graph import draw_plan
    from agentctl.engine.plan import plan_from_json

    states = {task.id: task.state for task in history.tasks}
    text = draw_plan(plan_from_json(history.plan), form, states)
    data = {"runId": history.run.id, "format": form, "text": text}
    console.result("RunDiagram", {**data}, lambda: text)
    return 0
