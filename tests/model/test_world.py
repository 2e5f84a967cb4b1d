"""A run against a world that knows the truth, under crashes, doubt, findings and two owners.

The safety rule: what must happen at most once is never dispatched again, unless somebody recorded
that it did not happen. With an operator who tells the truth, nothing happens twice at all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from agentctl.engine import ledger, recall, scheduler
from agentctl.errors import StoreError
from agentctl.machines.sets import RECONCILIATION_DECIDED
from agentctl.store.journal import RunJournal
from agentctl.store.statements import SQL
from tests.model.walk import WorldMachine
from tests.model.world import IDEMPOTENCIES

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentctl.engine.apply import Work

EXAMPLES = 300
STEPS = 30

TestWorld = WorldMachine.TestCase
TestWorld.settings = settings(
    max_examples=EXAMPLES,
    stateful_step_count=STEPS,
    suppress_health_check=list(HealthCheck),
)


def _repeat_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger, "REPEATABLE", frozenset(IDEMPOTENCIES))


def _never_doubt(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scheduler, "failure_event", lambda *_: "fail_transiently")


def _disbelieve_findings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recall, "RECONCILIATION_ABSENT", RECONCILIATION_DECIDED)


def _forget_the_fence(monkeypatch: pytest.MonkeyPatch) -> None:
    lawful = RunJournal._commit

    def commit(journal: RunJournal, work: Work) -> None:
        with journal._database.reading() as connection:
            row = connection.execute(SQL["lease_token"], (journal._number,)).fetchone()
        journal._token = row[0]
        lawful(journal, work)

    monkeypatch.setattr(RunJournal, "_commit", commit)


@pytest.mark.parametrize(
    ("break_rule", "error"),
    [
        (_repeat_everything, AssertionError),
        (_never_doubt, AssertionError),
        (_disbelieve_findings, AssertionError),
        # The second defence: a place in the journal, and a version of a record, are taken once.
        (_forget_the_fence, StoreError),
    ],
)
def test_an_engine_that_breaks_a_rule_is_found_out(
    monkeypatch: pytest.MonkeyPatch,
    break_rule: Callable[[pytest.MonkeyPatch], None],
    error: type[Exception],
) -> None:
    break_rule(monkeypatch)
    drawn = settings(
        TestWorld.settings,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        report_multiple_bugs=False,
    )
    with pytest.raises(error):
        run_state_machine_as_test(WorldMachine, settings=drawn)
