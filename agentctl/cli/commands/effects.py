"""`agentctl effects`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, cast

import typer

from agentctl.cli import options
from agentctl.cli.command import command, make
from agentctl.cli.console import Console

if TYPE_CHECKING:
    from agentctl.jsonvalue import JsonObject, JsonValue

app = make("effects", "Look at what a run asked the outside world for.")

EffectId = Annotated[
    str,
    typer.Argument(metavar="EFFECT", help="An effect's id, or its name.", show_default=False),
]


@command(app, "list")
def show(console: Console, run_id: options.RunId) -> int:
    """List the effects of a run, in the order they were asked for."""
    effects = _effects(console, run_id)
    listed: list[JsonValue] = [*effects]
    console.result("Effects", listed, lambda: _table(effects))
    return 0


@command(app, "inspect")
def inspect(console: Console, run_id: options.RunId, effect_id: EffectId) -> int:
    """Show one effect of a run with its request, its result and what can follow."""
    from agentctl.errors import UsageError
    from agentctl.suggest import did_you_mean

    by_id = {_request(one, "id"): one for one in _effects(console, run_id)}
    matches = [one for key, one in by_id.items() if key.startswith(effect_id)]
    if len(matches) != 1:
        known = did_you_mean(effect_id, by_id)
        many = "more than one effect starts" if matches else f"run {run_id} has no effect"
        raise UsageError(f"{many} with {effect_id!r}", help=known, run_id=run_id)
    console.result("Effect", matches[0], lambda: _human(matches[0]))
    return 0


def _effects(console: Console, run_id: str) -> list[JsonObject]:
    from agentctl.cli.drive import about
    from agentctl.cli.loading import open_existing
    from agentctl.engine.view import inspect_view

    engine = open_existing(console)
    try:
        view = inspect_view(about(console, engine, run_id), ())
        return cast("list[JsonObject]", view["effects"])
    finally:
        engine.close()


def _request(effect: JsonObject, key: str) -> str:
    return str(cast("JsonObject", effect["request"])[key])


def _table(effects: list[JsonObject]) -> str:
    from agentctl.cli.paint import table

    if not effects:
        return "no effects"
    rows = [
        (
            _request(one, "id")[:16],
            _request(one, "taskId"),
            _request(one, "operation"),
            str(one["status"]),
            str(one["dispatches"]),
        )
        for one in effects
    ]
    return table(("effect", "task", "operation", "state", "dispatches"), rows)


def _human(effect: JsonObject) -> str:
    import json

    from agentctl.cli.paint import facts, visible

    pairs = [
        ("effect", _request(effect, "id")),
        ("task", _request(effect, "taskId")),
        ("operation", _request(effect, "operation")),
        ("class", _request(effect, "effectClass")),
        ("idempotency", _request(effect, "idempotency")),
        ("state", str(effect["status"])),
        ("dispatches", str(effect["dispatches"])),
        ("can", ", ".join(cast("list[str]", effect["canDo"])) or "nothing: it is final"),
    ]
    rest = {key: effect[key] for key in ("result", "error") if effect[key] is not None}
    rest["input"] = cast("JsonObject", effect["request"])["input"]
    text = json.dumps(rest, ensure_ascii=False, indent=2)
    return facts(pairs) + "\n" + "\n".join(visible(line) for line in text.splitlines())
