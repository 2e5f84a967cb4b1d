"""An operator's dialogue about the effects of a run that may have happened.

Above: `agentctl reconcile`. Below: the engine and the terminal; questions go to standard error.
Each answer is stored at once, so the dialogue can be left at any question and taken up again.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final, cast

from attr import define, field

from agentctl.cli import dossier, probing
from agentctl.cli.paint import paint, visible
from agentctl.cli.terminal import Left, ask, require, say
from agentctl.clock import SystemClock
from agentctl.engine.doubt import doubt_of, next_step, undoers
from agentctl.errors import AgentctlError
from agentctl.machines.names import ReconciliationStates

if TYPE_CHECKING:
    from agentctl.cli.console import Console
    from agentctl.door import Engine
    from agentctl.engine.doubt import Doubt
    from agentctl.engine.operations.reconcile import Status
    from agentctl.engine.records import EffectRecord
    from agentctl.jsonvalue import JsonObject

_STATUSES: Final[dict[str, Status]] = {
    "a": ReconciliationStates.applied,
    "n": ReconciliationStates.not_applied,
    "c": ReconciliationStates.compensated,
}
_PROBE, _SKIP, _QUIT = "p", "s", "q"


@define(eq=False, repr=False)
class Dialogue:
    """Walks through the effects in doubt; `skipped` ones are not asked about again."""

    console: Console
    engine: Engine
    run_id: str
    actor: str
    skipped: set[str] = field(factory=set)

    def run(self) -> bool:
        """Ask about every effect in doubt; return whether the operator wants to resume now."""
        try:
            while True:
                doubt = self.doubt()
                left = [one for one in doubt.effects if one.name not in self.skipped]
                if not left:
                    break
                self._effect(doubt, left[0], len(left))
            say(next_step(doubt))
            if doubt.effects or not doubt.can_resume:
                return False
            return ask("resume it now? [y/N] ").lower() in ("y", "yes")
        except (Left, KeyboardInterrupt):
            say(f"\nleft; {next_step(self.doubt())}")
            return False

    def doubt(self) -> Doubt:
        """Return what is in doubt now."""
        return doubt_of(self.engine.history(self.run_id), SystemClock().now())

    def _effect(self, doubt: Doubt, effect: EffectRecord, left: int) -> None:
        """Show one effect, and ask until it is settled or passed over."""
        found = dossier.gather(self.engine, doubt, effect)
        colour = self.console.uses_colour(sys.stderr)
        head = f"{left} in doubt; task {effect.task_id}: did {effect.operation} happen?"
        say("\n" + paint(visible(head), "bold", on=colour))
        say(dossier.human(found))
        choices = self._choices(found)
        answer = ""
        while answer not in choices:
            answer = ask(", ".join(choices.values()) + ": ").lower()[:1]
        if answer == _QUIT:
            raise Left
        if answer == _SKIP:
            self.skipped.add(effect.name)
        elif answer == _PROBE:
            probed = probing.ask(self.console, self.engine, self.run_id, [effect.id])
            say(probing.lines(probed))
        else:
            self._record(doubt, effect, found, _STATUSES[answer])

    def _choices(self, found: JsonObject) -> dict[str, str]:
        moves = {str(one["status"]) for one in cast("list[JsonObject]", found["moves"])}
        shown = {"a": "[a]pplied", "n": "[n]ot applied", "c": "[c]ompensated"}
        choices = {key: shown[key] for key, status in _STATUSES.items() if status in moves}
        if found["probe"] is not None:
            choices[_PROBE] = "ask the [p]robe"
        return {**choices, _SKIP: "[s]kip", _QUIT: "[q]uit"}

    def _record(
        self, doubt: Doubt, effect: EffectRecord, found: JsonObject, status: Status
    ) -> None:
        """Ask for what a finding needs, and store it; what is refused is asked again."""
        from agentctl.cli.evidence import evidence_of, result_of

        moves = cast("list[JsonObject]", found["moves"])
        move = next(one for one in moves if one["status"] == status)
        try:
            reason = require("how do you know? ")
            evidence_file = ask("a file that shows it (enter: none): ")
            evidence = evidence_of(evidence_file) if evidence_file else None
            result = None
            if status == ReconciliationStates.applied:
                result_file = self._result_file(found, needed=bool(move["needsResult"]))
                result = result_of(result_file) if result_file else None
            undoing = None
            if status == ReconciliationStates.compensated:
                undoing = self._undoing(doubt, effect)
            say(f"{status}: {move['consequence']}")
            if move["needsApproval"] and not self._confirmed():
                return
            decided = self.engine.reconcile(
                self.run_id,
                effect.id,
                status=status,
                actor=self.actor,
                reason=reason,
                result=result,
                evidence=evidence,
                compensation_effect=undoing,
                approved=bool(move["needsApproval"]),
            )
            say(f"stored: effect {decided.effect_name} {decided.state}")
        except AgentctlError as error:
            say(visible(f"not stored: {error.message}"))
            if error.help:
                say(visible(f"  {error.help}"))

    def _result_file(self, found: JsonObject, *, needed: bool) -> str:
        import json

        contract = cast("JsonObject", found["contract"])
        say(f"its result is {contract['source']}")
        if not needed:
            return ask("a JSON file with its result (enter: none): ")
        say("  " + visible(json.dumps(contract["schema"], ensure_ascii=False)))
        return require("a JSON file with its result: ")

    def _undoing(self, doubt: Doubt, effect: EffectRecord) -> str:
        for one in undoers(doubt, effect):
            say(f"  {one.name}  {one.operation}  {one.id[:16]}")
        return require("which effect undid it? ")

    def _confirmed(self) -> bool:
        return ask("do you confirm the consequence? [yes/no] ").lower() == "yes"
