"""Asking on the terminal whether an effect may happen, and going on with the answer.

Above: `run --interactive`. Below: the engine and the terminal; the question goes to standard
error, so that standard output stays the result's.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from agentctl.cli.drive import drive, login
from agentctl.cli.follow import following, plan_order
from agentctl.cli.paint import visible
from agentctl.engine.view import pending_approvals

if TYPE_CHECKING:
    from agentctl.cli.console import Console
    from agentctl.door import Engine
    from agentctl.engine.events import RunOutcome
    from agentctl.engine.records import ApprovalRecord, RunHistory


def approve_and_resume(console: Console, engine: Engine, outcome: RunOutcome) -> RunOutcome:
    """Ask for every approval that a run waits for and go on, until it ends or nobody answers."""
    while sys.stdin.isatty():
        history = engine.history(outcome.run_id)
        questions = pending_approvals(history)
        if not questions or not all(_settle(engine, one) for one in questions):
            return outcome
        outcome = _go_on(console, engine, history)
    return outcome


def _go_on(console: Console, engine: Engine, history: RunHistory) -> RunOutcome:
    with following(console, engine, plan_order(history)):
        return drive(console, engine, lambda: engine.resume(history.run.id))


def _settle(engine: Engine, approval: ApprovalRecord) -> bool:
    """Ask, and store the answer; False when there was none."""
    answer = _ask(approval)
    if answer is not None:
        engine.decide_approval(
            approval.id, approve=answer, actor=login(), reason="answered on the terminal"
        )
    return answer is not None


def _ask(approval: ApprovalRecord) -> bool | None:
    """Return the answer; None for later, and at the end of the input."""
    sys.stderr.write(visible(f"task {approval.task_id} wants: {approval.summary}"))
    sys.stderr.write("\nallow it? [yes/no/later] ")
    sys.stderr.flush()
    answer = sys.stdin.readline().strip().lower()
    if answer in ("y", "yes"):
        return True
    return False if answer in ("n", "no") else None
