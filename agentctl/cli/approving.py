"""Asking on the terminal whether an effect may happen, and going on with the answer.

Above: `run --interactive` and `resume --interactive`. Below: the engine and the terminal;
questions go to standard error, so that standard output stays the result's. A run pauses, is
asked about and is resumed, so it holds nothing while a person thinks, and an answer is as
durable as one that `agentctl approvals` gives.
"""

from __future__ import annotations

import sys
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Final

from attr import define, field

from agentctl.cli import question
from agentctl.cli.drive import drive, login
from agentctl.cli.follow import following, plan_order
from agentctl.cli.paint import paint, visible
from agentctl.cli.terminal import Left, ask, require, say
from agentctl.engine.view import pending_approvals
from agentctl.errors import AgentctlError, StateError
from agentctl.machines.names import RunStates

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentctl.cli.console import Console
    from agentctl.door import Engine
    from agentctl.engine.events import RunOutcome
    from agentctl.engine.records import ApprovalRecord, RunHistory
    from agentctl.jsonvalue import JsonObject

_CHOICES: Final = {
    "a": "[a]pprove",
    "r": "[r]eject",
    "l": "[l]ater",
    "f": "show the [f]ull request",
}
# What is left for a run whose own time is used up: it ends at once, as it would have.
_NO_TIME_SECONDS: Final = 0.001


def on_a_terminal(console: Console) -> bool:
    """Return whether there is somebody to ask, and tell when there is not."""
    if sys.stdin.isatty() and sys.stderr.isatty():
        return True
    console.note("there is no terminal to ask on; `policy.nonInteractive` decides")
    return False


@define(eq=False, repr=False)
class Approving:
    """Drives a run, and asks for every approval it waits for until it ends or nobody answers.

    `timeout_seconds` bounds the time that the run works; the time of questions is not counted.
    """

    console: Console
    engine: Engine
    timeout_seconds: float | None = None
    actor: str = field(factory=login)
    later: set[str] = field(factory=set)
    worked_seconds: float = 0

    def drive(self, work: Callable[[], RunOutcome]) -> RunOutcome:
        """Do the first stretch of work, then ask and go on."""
        outcome = self._timed(work)
        while outcome.state == RunStates.paused:
            history = self.engine.history(outcome.run_id)
            if not self._ask_all(history):
                break
            outcome = self._timed(partial(self._go_on, history))
        return outcome

    def _timed(self, work: Callable[[], RunOutcome]) -> RunOutcome:
        started = monotonic()
        try:
            return work()
        finally:
            self.worked_seconds += monotonic() - started

    def _go_on(self, history: RunHistory) -> RunOutcome:
        left = None
        if self.timeout_seconds is not None:
            left = max(self.timeout_seconds - self.worked_seconds, _NO_TIME_SECONDS)
        with following(self.console, self.engine, plan_order(history)):
            return drive(
                self.console,
                self.engine,
                lambda: self.engine.resume(history.run.id, timeout_seconds=left, interactive=True),
            )

    def _ask_all(self, history: RunHistory) -> bool:
        """Ask every open question; return whether any was settled, so that the run can go on."""
        asked = [one for one in pending_approvals(history) if one.id not in self.later]
        settled = False
        try:
            for place, one in enumerate(asked):
                settled = self._settle(history, one, len(asked) - place) or settled
        except (Left, KeyboardInterrupt):
            say("\nleft; what was not answered stays open")
            return False
        return settled

    def _settle(self, history: RunHistory, asked: ApprovalRecord, left: int) -> bool:
        """Show one question, and store the answer; False when it is left for later."""
        found = question.gather(self.engine, history, asked)
        colour = self.console.uses_colour(sys.stderr)
        head = f"{left} to decide; task {asked.task_id} wants: {asked.summary}"
        say("\n" + paint(visible(head), "bold", on=colour))
        self._show(found, question.LINES_SHOWN, colour=colour)
        while True:
            answer = ask(", ".join(_CHOICES.values()) + ": ").lower()[:1]
            if answer == "f":
                self._show(found, None, colour=colour)
            elif answer == "l":
                self.later.add(asked.id)
                return False
            elif answer == "a":
                return self._store(asked, approve=True, reason="answered on the terminal")
            elif answer == "r":
                return self._store(asked, approve=False, reason=require("why? "))

    def _store(self, asked: ApprovalRecord, *, approve: bool, reason: str) -> bool:
        """Store an answer; one that comes too late is told, and the run goes on without it."""
        try:
            decided = self.engine.decide_approval(
                asked.id, approve=approve, actor=self.actor, reason=reason
            )
        except StateError as error:
            self._complain(error)
            return True
        say(f"stored: {decided.state} by {decided.actor}")
        return True

    def _complain(self, error: AgentctlError) -> None:
        say(visible(f"not stored: {error.message}"))

    def _show(self, found: JsonObject, lines: int | None, *, colour: bool) -> None:
        say(question.human(found, colour=colour, lines=lines))
