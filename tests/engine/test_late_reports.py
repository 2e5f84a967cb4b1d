"""An owner that lost its run: its late report is refused, and kept as evidence."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agentctl.errors import LeaseLost
from agentctl.store.lease import LIFETIME_SECONDS
from tests.engine.harness import Bench, child, task, workflow

if TYPE_CHECKING:
    from agentctl import Engine


def _take_over(bench: Bench, first: Engine) -> str:
    """Have a second process resume the run as if the first one's machine had gone quiet."""
    (run,) = first.store.list_runs()
    with first.store.database.writing() as connection:
        connection.execute("UPDATE lease SET host = 'elsewhere', boot = 'another'")
    bench.clock.advance(LIFETIME_SECONDS + 1)
    second = bench.reopened()
    journal = second.store.claim_run(run.id, bench.clock.now())
    journal.release()
    return run.id


def test_a_late_report_is_refused_and_kept_as_evidence(bench: Bench) -> None:
    first = bench.engine
    runs: list[str] = []

    @first.action("pay", idempotency="at_most_once")
    async def pay() -> dict[str, object]:
        runs.append(_take_over(bench, first))
        return {"receipt": 7}

    with pytest.raises(LeaseLost):
        first.start_sync(first.load(workflow(task("t", "action:pay"))))

    history = bench.engine.history(runs[0])
    (effect,) = history.effects
    assert effect.state == "started"
    (late,) = history.late_reports
    assert (late.effect_name, late.state, late.dispatch) == ("t/1.0", "succeeded", 1)
    assert late.result == {"receipt": 7}
    shown = child(bench.engine.inspect(runs[0]), "effects", 0, "lateReports", 0)
    assert shown["result"] == {"receipt": 7}
    assert shown["fencingToken"] == 1
