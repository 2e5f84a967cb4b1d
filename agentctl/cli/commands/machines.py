"""`agentctl machines`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from agentctl.cli.command import command, make
from agentctl.cli.console import Console

if TYPE_CHECKING:
    from agentctl.jsonvalue import JsonObject, JsonValue
    from agentctl.machines.table import Table

app = make("machines", "Show the state machines that every run, task and effect follows.")

Name = Annotated[
    str, typer.Argument(metavar="NAME", help="A machine, such as `task`.", show_default=False)
]
Drawing = Annotated[
    Literal["mermaid", "dot", "svg", "md"], typer.Option("--format", help="The kind of drawing.")
]


@command(app, "list")
def show_all(console: Console) -> int:
    """List all machines."""
    from agentctl.cli.paint import table

    tables = _tables()
    listed: list[JsonValue] = [_summary(one) for one in tables.values()]
    rows = [
        (one.name, str(len(one.states)), str(len(one.edges)), one.meaning)
        for one in tables.values()
    ]
    console.result(
        "Machines", listed, lambda: table(("machine", "states", "moves", "meaning"), rows)
    )
    return 0


@command(app, "show")
def show(console: Console, name: Name) -> int:
    """Show the states and events of a machine, what they mean and what can follow."""
    from agentctl.machines.draw import markdown

    found = _table(name)
    console.result("Machine", _whole(found), lambda: markdown(found))
    return 0


@command(app, "draw")
def draw(console: Console, name: Name, format: Drawing = "mermaid") -> int:
    """Draw a machine."""
    from agentctl.machines.draw import draw as drawn

    text = drawn(_table(name), format)
    data: JsonObject = {"machine": name, "format": format, "text": text}
    console.result("MachineDrawing", data, lambda: text)
    return 0


def _tables() -> dict[str, Table[Any, Any]]:
    from agentctl.machines.compiled import TABLES

    return {one.name: one for one in TABLES.values()}


def _table(name: str) -> Table[Any, Any]:
    from agentctl.errors import UsageError
    from agentctl.suggest import did_you_mean

    tables = _tables()
    if name not in tables:
        raise UsageError(f"no machine {name!r}", help=did_you_mean(name, tables))
    return tables[name]


def _summary(one: Table[Any, Any]) -> JsonObject:
    return {
        "name": one.name,
        "meaning": one.meaning,
        "states": len(one.states),
        "events": len(one.events),
        "moves": len(one.edges),
        "digest": one.digest,
    }


def _whole(one: Table[Any, Any]) -> JsonObject:
    return {
        "name": one.name,
        "meaning": one.meaning,
        "initial": one.initial,
        "digest": one.digest,
        "states": [
            {
                "name": state,
                "meaning": one.state_meanings[state],
                "isFinal": state in one.finals,
                "canDo": list(one.legal(state)),
            }
            for state in one.states
        ],
        "events": [{"name": event, "meaning": one.event_meanings[event]} for event in one.events],
        "moves": [
            {"from": source, "event": event, "to": target} for source, event, target in one.edges
        ],
    }
