"""Drawings of a plan: its tasks and what each waits for, with what happened marked.

Above: `agentctl plan --format` and `agentctl inspect --diagram`. Below: the plan and the drawing
of `machines`. The same plan and states always give the same text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, TypeAlias, cast

from attr import frozen

from agentctl.machines.names import TaskStates
from agentctl.machines.sets import TASK_BLOCKED, TASK_LIVE, TASK_SATISFIED, TASK_UNSATISFIED
from agentctl.value import Value

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentctl.engine.plan import Plan, PlanTask
    from agentctl.jsonvalue import JsonObject, JsonValue

GraphFormat: TypeAlias = Literal["mermaid", "dot", "svg"]
Tone: TypeAlias = Literal["none", "good", "bad", "live", "held", "off"]

_LINE_MAX: Final = 60
_NOTHING: Mapping[str, str] = {}
# Fill and border of each tone, with enough contrast for dark text.
COLOURS: Final[Mapping[Tone, tuple[str, str]]] = {
    "none": ("#f6f8fa", "#57606a"),
    "good": ("#dafbe1", "#1a7f37"),
    "bad": ("#ffebe9", "#cf222e"),
    "live": ("#ddf4ff", "#0969da"),
    "held": ("#fff3c4", "#b35900"),
    "off": ("#eaeef2", "#8c959f"),
}


@frozen(kw_only=True, eq=False, repr=False)
class Box(Value):
    """A task as drawn."""

    name: str
    lines: tuple[str, ...]
    tone: Tone


@frozen(kw_only=True, eq=False, repr=False)
class Arrow(Value):
    """`target` waits for `source`; `label` says on which case of a router."""

    source: str
    target: str
    label: str = ""


@frozen(kw_only=True, eq=False, repr=False)
class Graph(Value):
    """What is drawn, in compiled order."""

    title: str
    boxes: tuple[Box, ...]
    arrows: tuple[Arrow, ...]


def plan_graph(plan: Plan, states: Mapping[str, str] = _NOTHING) -> Graph:
    """Return the graph of a plan; `states` maps task ids to the states of a run."""
    boxes = tuple(
        Box(name=name, lines=_lines(plan.tasks[name], states.get(name)), tone=tone(states, name))
        for name in plan.order
    )
    arrows = tuple(
        Arrow(source=need, target=name, label=_case(plan.tasks[need], name))
        for name in plan.order
        for need in plan.tasks[name].needs
    )
    return Graph(title=plan.workflow_name, boxes=boxes, arrows=arrows)


def draw_plan(plan: Plan, form: GraphFormat, states: Mapping[str, str] = _NOTHING) -> str:
    """Return a plan as Mermaid, Graphviz DOT or SVG text."""
    graph = plan_graph(plan, states)
    if form == "mermaid":
        return mermaid(graph)
    return dot(graph) if form == "dot" else svg(graph)


def tone(states: Mapping[str, str], name: str) -> Tone:
    """Return how a task's state is coloured."""
    state = states.get(name)
    if state in TASK_SATISFIED:
        return "good"
    if state == TaskStates.failed:
        return "bad"
    if state in TASK_UNSATISFIED:
        return "off"
    if state in TASK_BLOCKED or state == TaskStates.retry_scheduled:
        return "held"
    return "live" if state in TASK_LIVE else "none"


def mermaid(graph: Graph) -> str:
    """Return a Mermaid flowchart."""
    places = {box.name: f"t{place}" for place, box in enumerate(graph.boxes)}
    lines = ["flowchart LR"]
    for box in graph.boxes:
        label = "<br/>".join(_mermaid_text(line) for line in box.lines)
        lines.append(f'    {places[box.name]}["{label}"]')
    for arrow in graph.arrows:
        label = f'|"{_mermaid_text(arrow.label)}"| ' if arrow.label else ""
        lines.append(f"    {places[arrow.source]} -->{label or ' '}{places[arrow.target]}")
    for each, (fill, stroke) in COLOURS.items():
        members = [places[box.name] for box in graph.boxes if box.tone == each]
        if members and each != "none":
            lines.append(f"    classDef {each} fill:{fill},stroke:{stroke}")
            lines.append(f"    class {','.join(members)} {each}")
    return "\n".join(lines) + "\n"


def dot(graph: Graph) -> str:
    """Return a Graphviz digraph."""
    lines = [
        f"digraph {_quoted(graph.title)} {{",
        "    rankdir=LR;",
        '    node [shape=box, style="rounded,filled", fontname="monospace"];',
        '    edge [fontname="monospace", fontsize=10];',
    ]
    for box in graph.boxes:
        fill, stroke = COLOURS[box.tone]
        label = _quoted("\n".join(box.lines))
        colours = f'fillcolor="{fill}", color="{stroke}"'
        lines.append(f"    {_quoted(box.name)} [label={label}, {colours}];")
    for arrow in graph.arrows:
        label = f" [label={_quoted(arrow.label)}]" if arrow.label else ""
        lines.append(f"    {_quoted(arrow.source)} -> {_quoted(arrow.target)}{label};")
    return "\n".join([*lines, "}"]) + "\n"


def svg(graph: Graph) -> str:
    """Return an SVG picture; needs no drawing program."""
    from agentctl.machines.svg import Edge, Node, picture

    nodes = [
        Node(name=box.name, lines=box.lines, colours=COLOURS[box.tone]) for box in graph.boxes
    ]
    edges = [
        Edge(
            source=arrow.source,
            target=arrow.target,
            lines=(arrow.label,) if arrow.label else (),
        )
        for arrow in graph.arrows
    ]
    return picture(graph.title, nodes, edges)


def uses_text(task: PlanTask) -> str:
    """Return what a task uses in a few words, such as `action greet` or `loop of 3`."""
    name = task.uses_name
    if isinstance(name, str):
        return f"{task.uses_kind} {name}"
    if isinstance(name, list):
        return f"aggregate of {len(name)}"
    if task.uses_kind == "loop_aggregate" and isinstance(name, dict):
        return f"loop of at most {len(cast('list[JsonValue]', name['children']))}"
    if isinstance(name, dict) and "name" in name:
        return f"{task.uses_kind.replace('_', ' ')} {name['name']}"
    return task.uses_kind


def _lines(task: PlanTask, state: str | None) -> tuple[str, ...]:
    lines = [task.id, uses_text(task)]
    if task.when is not None:
        lines.append(f"when {task.when}")
    if state is not None:
        lines.append(state)
    return tuple(line if len(line) <= _LINE_MAX else f"{line[: _LINE_MAX - 1]}…" for line in lines)


def _case(router: PlanTask, target: str) -> str:
    """Return the case of a router that leads to a task, or an empty text."""
    if router.uses_kind != "router" or not isinstance(router.uses_name, dict):
        return ""
    cases = cast("list[JsonObject]", router.uses_name["cases"])
    for case in cases:
        if target in cast("list[str]", case["tasks"]):
            return f"= {case['equals']}"
    return "default" if target in cast("list[str]", router.uses_name["default"]) else ""


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def _mermaid_text(text: str) -> str:
    """Return the text with what Mermaid reads as syntax written as entities."""
    return "".join(
        f"#{ord(c)};" if c in '#;"<>{}[]`|&\\' or not c.isprintable() else c for c in text
    )
