"""Raise the spent budget of a stopped run: an audited move that keeps all finished work.

Above: resume. Below: the run's record. Source: specification, section 11.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from attr import frozen

from agentctl.engine.budget import RAISABLE, limits_of
from agentctl.errors import StateError, UsageError
from agentctl.machines.compiled import RUN
from agentctl.suggest import did_you_mean
from agentctl.value import Value

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentctl.clock import Instant
    from agentctl.engine.apply import Work
    from agentctl.engine.state import RunState
    from agentctl.jsonvalue import JsonObject


@frozen(kw_only=True, eq=False, repr=False)
class BudgetRaise(Value):
    """New limits by their names in the document (`maxTurns`), and who sets them."""

    limits: Mapping[str, int]
    actor: str


def raise_budget(state: RunState, work: Work, now: Instant, raised: BudgetRaise | None) -> None:
    """Move a run that its budget stopped on, under its new limits.

    Raises StateError when the budget did not stop the run or is not raised, UsageError for a
    limit that does not exist or is not higher than before.
    """
    run = state.run
    if "raise_budget" not in RUN.legal(run.state):
        raise StateError(
            f"run {run.id} is {run.state}; its budget did not stop it",
            help=f"resume it with `agentctl resume {run.id}`",
            run_id=run.id,
        )
    limits = limits_of(state.plan.definitions, run)
    if raised is None:
        raise StateError(_spent(cast("JsonObject", run.error)), help=_how(run.id), run_id=run.id)
    _check(raised.limits, limits, run.id)
    detail: JsonObject = {
        "raised": {
            name: {"from": limits.get(name), "to": limit} for name, limit in raised.limits.items()
        }
    }
    state.run = work.move(
        run,
        "raise_budget",
        now,
        actor=raised.actor,
        detail=detail,
        error=None,
        raised_budgets={**(run.raised_budgets or {}), **raised.limits},
    )


def _check(raised: Mapping[str, int], limits: Mapping[str, int], run_id: str) -> None:
    problems = []
    for name, limit in raised.items():
        if name not in RAISABLE:
            near = did_you_mean(name, RAISABLE)
            problems.append(f"there is no budget {name!r}" + (f"; {near}" if near else ""))
        elif name not in limits:
            problems.append(f"the workflow does not limit {name}")
        elif limit <= limits[name]:
            problems.append(f"{name} is {limits[name]:,} already; {limit:,} would not raise it")
    if problems:
        raise UsageError("; ".join(problems), run_id=run_id)


def _spent(error: JsonObject) -> str:
    return f"the run stopped because {error.get('message')}"


def _how(run_id: str) -> str:
    return f"raise it: `agentctl resume {run_id} --raise-budget NAME=VALUE`"
