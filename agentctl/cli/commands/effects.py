"""`agentctl effects`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal, cast

import typer

from agentctl.cli import options
from agentctl.cli.command import command, make
from agentctl.cli.console import Console

if TYPE_CHECKING:
    from agentctl.door import Engine
    from agentctl.engine.operations.reconcile import Status
    from agentctl.engine.records import ReconciliationRecord, RunHistory
    from agentctl.jsonvalue import JsonObject, JsonValue

app = make("effects", "Look at what a run asked the outside world for, and say what became of it.")

Names = Annotated[
    list[str],
    typer.Argument(
        metavar="[RUN] EFFECT",
        help="An effect's id or name. The run may be left out before an id, or how one begins.",
        show_default=False,
    ),
]
RunOrEffect = Annotated[
    str,
    typer.Argument(metavar="RUN", help="A run id, or the id of an effect.", show_default=False),
]
Became = Annotated[
    Literal["applied", "not-applied", "compensated"],
    typer.Option("--status", help="What became of the effect.", show_default=False),
]
Why = Annotated[
    str, typer.Option("--reason", metavar="TEXT", help="How you know.", show_default=False)
]
EvidenceFile = Annotated[
    str | None, typer.Option("--evidence-file", metavar="FILE", help="What shows it; kept.")
]
ResultFile = Annotated[
    str | None,
    typer.Option("--result-file", metavar="FILE", help="What it returned, as JSON."),
]
SchemaFile = Annotated[
    str | None,
    typer.Option("--result-schema-file", metavar="FILE", help="A JSON Schema for the result."),
]
Undoing = Annotated[
    str | None,
    typer.Option(
        "--compensation-effect", metavar="EFFECT", help="The effect of the run that undid it."
    ),
]


@command(app, "list")
def show(console: Console, run_id: RunOrEffect) -> int:
    """List the effects of a run, in the order they were asked for."""
    from agentctl.cli.loading import open_existing
    from agentctl.engine.view import inspect_view

    engine = open_existing(console)
    try:
        history = _of_run_or_effect(console, engine, run_id)
        effects = cast("list[JsonObject]", inspect_view(history, ())["effects"])
    finally:
        engine.close()
    listed: list[JsonValue] = [*effects]
    console.result("Effects", listed, lambda: _table(effects, _settled(history)))
    return 0


@command(app, "inspect")
def inspect(console: Console, names: Names) -> int:
    """Show one effect of a run with its request, its result and what can follow."""
    from agentctl.cli.drive import about
    from agentctl.cli.loading import open_existing
    from agentctl.engine.operations.reconcile import find_effect
    from agentctl.engine.plan import plan_from_json
    from agentctl.engine.state import state_from_history
    from agentctl.engine.view import inspect_view, reconciliation_view

    engine = open_existing(console)
    try:
        run_id, wanted = effect_named(engine, names)
        history = about(console, engine, run_id)
        effect = find_effect(state_from_history(history, plan_from_json(history.plan)), wanted)
    finally:
        engine.close()
    effects = cast("list[JsonObject]", inspect_view(history, ())["effects"])
    found = next(one for one in effects if _request(one, "id") == effect.id)
    settled = _settled(history).get(effect.id)
    data = {**found, "reconciliation": reconciliation_view(settled) if settled else None}
    console.result("Effect", data, lambda: _human(data, settled))
    return 0


@command(app, "reconcile")
def reconcile(
    console: Console,
    names: Names,
    status: Became,
    reason: Why,
    actor: options.Actor = None,
    evidence_file: EvidenceFile = None,
    result_file: ResultFile = None,
    result_schema_file: SchemaFile = None,
    compensation_effect: Undoing = None,
    approved: options.Approved = False,
) -> int:
    """Say what became of an effect that may have happened; nothing is ever taken back."""
    from agentctl.cli.drive import about, login
    from agentctl.cli.evidence import evidence_of, result_of
    from agentctl.cli.loading import open_existing
    from agentctl.engine.view import reconciliation_view
    from agentctl.errors import UsageError

    if result_schema_file is not None and result_file is None:
        raise UsageError("--result-schema-file is about a --result-file, and none is given")
    if not reason.strip():
        raise UsageError("--reason is empty", help="say in a few words how you know")
    evidence = None if evidence_file is None else evidence_of(evidence_file)
    result = None if result_file is None else result_of(result_file, result_schema_file)
    engine = open_existing(console)
    try:
        run_id, wanted = effect_named(engine, names)
        about(console, engine, run_id)
        decided = engine.reconcile(
            run_id,
            wanted,
            status=cast("Status", status.replace("-", "_")),
            actor=actor or login(),
            reason=reason,
            result=result,
            evidence=evidence,
            compensation_effect=compensation_effect,
            approved=approved,
        )
        follows = _what_follows(engine, run_id)
    finally:
        engine.close()
    data = reconciliation_view(decided)
    told = f"effect {decided.effect_name} {decided.state}\n  {follows}"
    console.result("Reconciliation", data, lambda: told)
    return 0


@command(app, "probe")
def probe(console: Console, names: Names) -> int:
    """Ask the declared probe whether an effect happened; a valid answer settles it."""
    from agentctl.cli.drive import about
    from agentctl.cli.loading import open_existing
    from agentctl.cli.probing import ask, report

    engine = open_existing(console)
    try:
        run_id, wanted = effect_named(engine, names)
        about(console, engine, run_id)
        probed = ask(console, engine, run_id, [wanted])
        return report(console, probed, _what_follows(engine, run_id))
    finally:
        engine.close()


def effect_named(engine: Engine, names: list[str]) -> tuple[str, str]:
    """Return run and effect of `[RUN] EFFECT`. Raises UsageError and UnknownEffect."""
    from agentctl.errors import UnknownEffect, UsageError

    if len(names) == 2:
        return names[0], names[1]
    if len(names) > 2:
        raise UsageError(f"expected [RUN] EFFECT, got {len(names)} names")
    found = engine.store.run_of_effect(names[0])
    if len(found) == 1:
        return found[0]
    if found:
        message = f"more than one effect's id starts with {names[0]!r}"
        raise UnknownEffect(message, help="give more of the id, or the run before it")
    help = "give the run before it: `agentctl effects list RUN` shows the effects of a run"
    raise UnknownEffect(f"no effect's id starts with {names[0]!r}", help=help)


def _of_run_or_effect(console: Console, engine: Engine, name: str) -> RunHistory:
    from agentctl.cli.drive import about
    from agentctl.errors import UnknownRun

    try:
        return about(console, engine, name)
    except UnknownRun:
        found = engine.store.run_of_effect(name)
        if len(found) != 1:
            raise
        return about(console, engine, found[0][0])


def _what_follows(engine: Engine, run_id: str) -> str:
    from agentctl.clock import SystemClock
    from agentctl.engine.doubt import doubt_of, next_step

    return next_step(doubt_of(engine.history(run_id), SystemClock().now()))


def _settled(history: RunHistory) -> dict[str, ReconciliationRecord]:
    """Return what was found out, by effect id."""
    return {one.effect_id: one for one in history.reconciliations}


def _request(effect: JsonObject, key: str) -> str:
    return str(cast("JsonObject", effect["request"])[key])


def _table(effects: list[JsonObject], settled: dict[str, ReconciliationRecord]) -> str:
    from agentctl.cli.paint import table

    if not effects:
        return "no effects"
    rows = []
    for one in effects:
        found = settled.get(_request(one, "id"))
        rows.append(
            (
                _request(one, "id")[:16],
                _request(one, "taskId"),
                _request(one, "operation"),
                str(one["status"]) + (f", found {found.state}" if found else ""),
                str(one["dispatches"]),
            )
        )
    return table(("effect", "task", "operation", "state", "dispatches"), rows)


def _human(effect: JsonObject, settled: ReconciliationRecord | None) -> str:
    import json

    from agentctl.cli.paint import facts, visible

    pairs = [
        ("effect", _request(effect, "id")),
        ("task", _request(effect, "taskId")),
        ("operation", _request(effect, "operation")),
        ("class", _request(effect, "effectClass")),
        ("idempotency", _request(effect, "idempotency")),
        ("key", _request(effect, "idempotencyKey")),
        ("state", str(effect["status"])),
        ("dispatches", str(effect["dispatches"])),
        ("can", ", ".join(cast("list[str]", effect["canDo"])) or "nothing: it is final"),
    ]
    if settled is not None:
        pairs.append(("found", f"{settled.state} by {settled.actor}: {settled.reason}"))
    rest = {key: effect[key] for key in ("result", "error") if effect[key] is not None}
    rest["input"] = cast("JsonObject", effect["request"])["input"]
    text = json.dumps(rest, ensure_ascii=False, indent=2)
    return facts(pairs) + "\n" + "\n".join(visible(line) for line in text.splitlines())
