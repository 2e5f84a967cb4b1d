"""`agentctl plan`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final, Literal, cast

import typer

from agentctl.cli import options
from agentctl.cli.command import command, single
from agentctl.cli.console import Console

if TYPE_CHECKING:
    from agentctl.engine.plan import Plan
    from agentctl.jsonvalue import JsonObject

app = single()

PlanFormat = Annotated[
    Literal["human", "json", "mermaid", "dot", "svg"] | None,
    typer.Option("--format", help="A table, the plan as JSON, or a drawing. [default: human]"),
]

_GRAPHS: Final[dict[str, options.GraphFormat]] = {
    "mermaid": "mermaid",
    "dot": "dot",
    "svg": "svg",
}


@command(app, "plan")
def plan(
    console: Console,
    file: options.File,
    format: PlanFormat = None,
    vars_file: options.VarsFiles = None,
    var: options.Vars = None,
    workspace: options.Workspace = None,
) -> int:
    """Compile a workflow and show the tasks as they will run, or draw them."""
    from agentctl.cli import loading, packs

    manifest = packs.manifest(file)
    if manifest is not None:
        console.result("PackPlan", manifest, lambda: packs.headline(file, manifest))
        return 0
    loaded = loading.load(loading.open_engine(console), file, workspace, vars_file, var)
    loading.show_warnings(console, loaded)
    return _show(console, loaded.plan, format or "human")


def _show(
    console: Console, made: Plan, form: Literal["human", "json", "mermaid", "dot", "svg"]
) -> int:
    from agentctl.engine.graph import draw_plan
    from agentctl.engine.view import plan_view

    graph = _GRAPHS.get(form)
    if graph is not None:
        drawn = draw_plan(made, graph)
        console.result("PlanGraph", {"format": form, "text": drawn}, lambda: drawn)
        return 0
    data = plan_view(made)
    console.result("Plan", data, lambda: _json(data) if form == "json" else _human(made))
    return 0


def _json(data: object) -> str:
    import json

    return json.dumps(data, ensure_ascii=False, indent=2)


def _human(made: Plan) -> str:
    from agentctl.cli.paint import table
    from agentctl.engine.graph import uses_text

    rows = [
        (str(place), name, uses_text(made.tasks[name]), ", ".join(made.tasks[name].needs) or "-")
        for place, name in enumerate(made.order, 1)
    ]
    head = f"plan of {made.workflow_name}: {len(rows)} tasks, {made.max_concurrency} at a time"
    return "\n".join(
        [
            head,
            table(("#", "task", "uses", "needs"), rows),
            *_catalogs(made),
            f"predictability: {made.predictability.replace('_', ' ')}",
            f"digest: {made.plan_digest}",
        ]
    )


def _catalogs(made: Plan) -> list[str]:
    """Return what each agent sees of the catalog, beside what every agent sees of it."""
    agents = cast("dict[str, JsonObject]", made.definitions["agents"])
    granted = {name: one["catalog"] for name, one in agents.items() if one.get("catalog")}
    return [
        f"agent {name} sees the tools: "
        + ", ".join(cast("list[str]", cast("JsonObject", catalog)["visible"]))
        for name, catalog in granted.items()
    ]
