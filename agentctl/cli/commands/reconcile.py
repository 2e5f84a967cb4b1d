"""`agentctl reconcile`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, cast

import typer

from agentctl.cli import options
from agentctl.cli.command import command, single
from agentctl.cli.console import Console

if TYPE_CHECKING:
    from agentctl.cli.decisions import Decisions
    from agentctl.door import Engine
    from agentctl.engine.doubt import Doubt
    from agentctl.engine.operations.reconcile import Finding, Status
    from agentctl.engine.records import ReconciliationRecord
    from agentctl.jsonvalue import JsonObject, JsonValue

app = single()

PlanOnly = Annotated[bool, typer.Option("--plan", help="Only say what would be asked or stored.")]
DecisionsFile = Annotated[
    str | None,
    typer.Option("--decisions", metavar="FILE", help="A YAML or JSON list of findings."),
]
Probes = Annotated[bool, typer.Option("--probe", help="Ask the declared probes first.")]
GoOn = Annotated[bool, typer.Option("--resume", help="Go on with the run once all is settled.")]


@command(app, "reconcile", streams=True)
def reconcile(
    console: Console,
    run_id: options.RunId,
    plan: PlanOnly = False,
    decisions: DecisionsFile = None,
    probe: Probes = False,
    resume: GoOn = False,
    approved: options.Approved = False,
    actor: options.Actor = None,
) -> int:
    """Walk through the effects of a run that may have happened, and say what became of each."""
    from agentctl.cli.decisions import read_decisions
    from agentctl.cli.drive import about, login
    from agentctl.cli.loading import open_existing

    listed = None if decisions is None else read_decisions(decisions)
    engine = open_existing(console)
    try:
        about(console, engine, run_id)
        who = actor or login()
        if plan:
            return _plan(console, engine, run_id, _findings(listed, who, approved), listed)
        if not probe and listed is None:
            return _talk(console, engine, run_id, who, resume=resume)
        if probe:
            code = _probe(console, engine, run_id, quiet=listed is not None or resume)
            if listed is None and (code or not resume):
                return code
        decided: list[ReconciliationRecord] = []
        if listed is not None:
            decided = _store(engine, run_id, listed, _findings(listed, who, approved))
        if resume:
            return _go_on(console, engine, run_id, decided)
        return _stored(console, engine, run_id, decided)
    finally:
        engine.close()


def _findings(listed: Decisions | None, actor: str, approved: bool) -> list[tuple[str, Finding]]:
    return [] if listed is None else listed.findings(actor, approved=approved)


def _plan(
    console: Console,
    engine: Engine,
    run_id: str,
    findings: list[tuple[str, Finding]],
    listed: Decisions | None,
) -> int:
    """Say what would be asked, and what a file of findings would store; write nothing."""
    from agentctl.cli import dossier
    from agentctl.clock import SystemClock
    from agentctl.engine.apply import Work
    from agentctl.engine.doubt import consequence, next_step
    from agentctl.engine.operations.reconcile import decide_all
    from agentctl.errors import DecisionsRefused

    doubt = _doubt(engine, run_id)
    asked = [dossier.gather(engine, doubt, one) for one in doubt.effects]
    stored: list[JsonValue] = []
    clean = engine.redacted(run_id, findings) if findings else []
    try:
        for one in decide_all(doubt.state, Work(), clean, SystemClock().now()):
            told = {"effectName": one.effect_name, "effectId": one.effect_id, "status": one.state}
            stored.append({**told, "consequence": consequence(doubt, cast("Status", one.state))})
    except DecisionsRefused as refused:
        if listed is None:
            raise
        raise listed.explained(refused) from None
    data: JsonObject = {
        "runId": run_id,
        "state": doubt.state.run.state,
        "canResume": doubt.can_resume,
        "effects": [*asked],
        "findings": stored,
        "next": next_step(doubt),
    }
    console.result("ReconciliationPlan", data, lambda: _plan_text(asked, stored, doubt))
    return 0


def _plan_text(asked: list[JsonObject], stored: list[JsonValue], doubt: Doubt) -> str:
    from agentctl.cli import dossier
    from agentctl.cli.paint import visible
    from agentctl.engine.doubt import next_step

    lines = [
        f"would store: effect {one['effectName']} {one['status']}: {one['consequence']}"
        for one in stored
        if isinstance(one, dict)
    ]
    if lines:
        return "\n".join(map(visible, lines))
    return "\n\n".join([*map(dossier.human, asked), next_step(doubt)])


def _talk(console: Console, engine: Engine, run_id: str, actor: str, *, resume: bool) -> int:
    """Ask on the terminal. Raises TerminalRequired when there is none."""
    import sys

    from agentctl.cli.dialogue import Dialogue
    from agentctl.cli.probing import UNSETTLED_EXIT_CODE
    from agentctl.engine.doubt import next_step
    from agentctl.errors import TerminalRequired

    doubt = _doubt(engine, run_id)
    if not doubt.effects:
        if resume:
            return _go_on(console, engine, run_id, [])
        data: JsonObject = {"runId": run_id, "findings": [], "remaining": []}
        console.result("Reconciliations", data, lambda: next_step(doubt))
        return 0
    if not (console.is_human and sys.stdin.isatty()):
        raise TerminalRequired(
            f"effects of run {run_id} are in doubt ({len(doubt.effects)}), and there is no "
            "terminal to ask on",
            help="give the findings with --decisions FILE; --plan shows what would be asked",
            run_id=run_id,
        )
    dialogue = Dialogue(console, engine, run_id, actor)
    if dialogue.run():
        return _go_on(console, engine, run_id, [])
    return UNSETTLED_EXIT_CODE if dialogue.doubt().effects else 0


def _probe(console: Console, engine: Engine, run_id: str, *, quiet: bool) -> int:
    from agentctl.cli.probing import UNSETTLED_EXIT_CODE, ask, lines, report
    from agentctl.engine.doubt import next_step

    probed = ask(console, engine, run_id, None)
    if not quiet:
        return report(console, probed, next_step(_doubt(engine, run_id)))
    console.note(lines(probed))
    return UNSETTLED_EXIT_CODE if _doubt(engine, run_id).effects else 0


def _store(
    engine: Engine, run_id: str, listed: Decisions, findings: list[tuple[str, Finding]]
) -> list[ReconciliationRecord]:
    """Store every finding of a file in one commit, or none. Raises DocumentError."""
    from agentctl.errors import DecisionsRefused

    try:
        return engine.reconcile_all(run_id, findings)
    except DecisionsRefused as refused:
        raise listed.explained(refused) from None


def _stored(
    console: Console, engine: Engine, run_id: str, decided: list[ReconciliationRecord]
) -> int:
    from agentctl.engine.doubt import next_step
    from agentctl.engine.view import reconciliation_view

    doubt = _doubt(engine, run_id)
    data: JsonObject = {
        "runId": run_id,
        "findings": [reconciliation_view(one) for one in decided],
        "remaining": [one.name for one in doubt.effects],
        "next": next_step(doubt),
    }
    console.result("Reconciliations", data, lambda: f"{_lines(decided)}\n  {next_step(doubt)}")
    return 0


def _lines(decided: list[ReconciliationRecord]) -> str:
    return "\n".join(f"effect {one.effect_name} {one.state}" for one in decided)


def _doubt(engine: Engine, run_id: str) -> Doubt:
    from agentctl.cli.holding import is_alive
    from agentctl.clock import SystemClock
    from agentctl.engine.doubt import doubt_of

    held = is_alive(engine.store.holder(run_id))
    return doubt_of(engine.history(run_id), SystemClock().now(), is_held=held)


def _go_on(
    console: Console, engine: Engine, run_id: str, decided: list[ReconciliationRecord]
) -> int:
    from agentctl.cli.drive import drive
    from agentctl.cli.follow import following, plan_order
    from agentctl.cli.outcome import report

    if decided:
        console.note(_lines(decided))
    with following(console, engine, plan_order(engine.history(run_id))):
        outcome = drive(console, engine, lambda: engine.resume(run_id))
    return report(console, outcome)
