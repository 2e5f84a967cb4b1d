"""Drawings of a table: Mermaid, DOT, Markdown and SVG, with a run's live states marked.

Above: the CLI and `docs/machines.md`. Below: `table` and `svg`. Labels are the
stored names, moves between the same two states share one arrow, and the same table always gives
the same text. It writes no file and calls no program.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from agentctl.machines.table import Table

    AnyTable: TypeAlias = Table[Any, Any]

DrawingFormat: TypeAlias = Literal["mermaid", "dot", "svg", "md"]

_NOTHING: Mapping[str, str] = {}


def draw(table: AnyTable, form: DrawingFormat, live: Mapping[str, str] = _NOTHING) -> str:
    """Return the drawing in the format asked for; `live` maps states to a label each."""
    drawers: dict[DrawingFormat, Callable[[AnyTable, Mapping[str, str]], str]] = {
        "mermaid": mermaid,
        "dot": dot,
        "svg": svg,
        "md": markdown,
    }
    return drawers[form](table, live)


def merged_edges(table: AnyTable) -> dict[tuple[str, str], tuple[str, ...]]:
    """Return the events between each source and target, in order of declaration."""
    merged: dict[tuple[str, str], tuple[str, ...]] = {}
    for source, event, target in table.edges:
        merged[source, target] = (*merged.get((source, target), ()), event)
    return merged


def mermaid(table: AnyTable, live: Mapping[str, str] = _NOTHING) -> str:
    """Return a Mermaid state diagram."""
    lines = ["stateDiagram-v2", "    direction LR", f"    [*] --> {table.initial}"]
    for (source, target), events in merged_edges(table).items():
        lines.append(f"    {source} --> {target} : {', '.join(events)}")
    lines += [f"    {state} --> [*]" for state in table.states if state in table.finals]
    marked = [state for state in table.states if state in live]
    for state in marked:
        lines.append(f"    {state} : {_mermaid_text(' '.join((state, live[state])).strip())}")
    if marked:
        lines.append("    classDef live fill:#fff3c4,stroke:#b35900,stroke-width:3px")
        lines.append(f"    class {','.join(marked)} live")
    return "\n".join(lines) + "\n"


def dot(table: AnyTable, live: Mapping[str, str] = _NOTHING) -> str:
    """Return a Graphviz digraph."""
    lines = [
        f"digraph {_quoted(table.name)} {{",
        "    rankdir=LR;",
        '    node [shape=box, style="rounded,filled", fillcolor="#f6f8fa", fontname="monospace"];',
        '    edge [fontname="monospace", fontsize=10];',
        "    __start [shape=point, width=0.15];",
        f"    __start -> {_quoted(table.initial)};",
    ]
    for state in table.states:
        marks = ["peripheries=2"] if state in table.finals else []
        if state in live:
            label = _quoted("\n".join(part for part in (state, live[state]) if part))
            marks += [f"label={label}", 'fillcolor="#fff3c4"', 'color="#b35900"', "penwidth=2.5"]
        listed = f" [{', '.join(marks)}]" if marks else ""
        lines.append(f"    {_quoted(state)}{listed};")
    for (source, target), events in merged_edges(table).items():
        label = _quoted("\n".join(events))
        lines.append(f"    {_quoted(source)} -> {_quoted(target)} [label={label}];")
    return "\n".join([*lines, "}"]) + "\n"


def svg(table: AnyTable, live: Mapping[str, str] = _NOTHING) -> str:
    """Return an SVG picture; needs no drawing program."""
    from agentctl.machines.svg import Edge, Node, picture

    nodes = [
        Node(
            name=state,
            lines=(state, *(line for line in live.get(state, "").split("\n") if line)),
            is_final=state in table.finals,
            is_live=state in live,
        )
        for state in table.states
    ]
    edges = [
        Edge(source=source, target=target, lines=events)
        for (source, target), events in merged_edges(table).items()
    ]
    return picture(f"{table.name}: {table.meaning}", nodes, edges)


def markdown(table: AnyTable, live: Mapping[str, str] = _NOTHING) -> str:
    """Return a Markdown page: the diagram, a table of states and a table of events."""
    lines = [f"# {table.name}", "", table.meaning, "", "```mermaid"]
    lines += [*mermaid(table, live).splitlines(), "```", ""]
    lines += ["| state | meaning | what can follow |", "| --- | --- | --- |"]
    for state in table.states:
        follows = ", ".join(_code(event) for event in table.legal(state)) or "nothing: it is final"
        start = " (start)" if state == table.initial else ""
        name = f"**{_code(state)}** {_cell(live[state])}" if state in live else _code(state)
        lines.append(f"| {name}{start} | {_cell(table.state_meanings[state])} | {follows} |")
    lines += ["", "| event | from | to | meaning |", "| --- | --- | --- | --- |"]
    for event in table.events:
        moves = [(source, target) for source, each, target in table.edges if each == event]
        sources = ", ".join(_code(source) for source, _ in moves)
        targets = ", ".join(_code(target) for target in dict.fromkeys(move[1] for move in moves))
        meaning = _cell(table.event_meanings[event])
        lines.append(f"| {_code(event)} | {sources} | {targets} | {meaning} |")
    return "\n".join([*lines, "", f"Digest: `{table.digest}`"]) + "\n"


def _code(name: str) -> str:
    return f"`{name}`"


def _cell(text: str) -> str:
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("\n", " ")


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def _mermaid_text(text: str) -> str:
    """Return the text without what ends or opens something in a Mermaid diagram."""
    return " ".join("".join(c if c not in '#;:"<>{}[]`%' else " " for c in text).split())
