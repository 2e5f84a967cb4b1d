"""Budgets at the command line: the acceptance journey, and raising what was spent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.cli.harness import run_cli, run_json
from tests.cli.test_journeys import V1, Desk, desk

if TYPE_CHECKING:
    from tests.cli.harness import Result

__all__ = ["desk"]

BUDGET = V1 / "resource-budget.yaml"


def _spent(desk: Desk) -> Result:
    return desk.run(BUDGET).expect(4)


def test_a46_the_second_provider_request_is_not_made(desk: Desk) -> None:
    result = _spent(desk)
    assert "providerRequests" in result.text("/error/message")
    seen = desk.inspect(result.text("/error/runId"))
    assert seen.at("/data/budget/usage/providerRequests") == 1
    assert seen.at("/data/budget/exceeded") == {
        "dimension": "providerRequests",
        "limit": 1,
        "attempted": 2,
    }
    assert len(seen.items("/data/effects")) == 2
    assert seen.at("/data/effects/1/status") == "requested"


def test_a_raised_budget_lets_the_run_go_on(desk: Desk) -> None:
    run_id = _spent(desk).text("/error/runId")
    raises = [
        part
        for name in ("maxProviderRequests=2", "maxTurns=2", "maxOutputTokens=64")
        for part in ("--raise-budget", name)
    ]
    desk.on("resume", run_id, *raises, "--actor", "ada").expect(0)
    seen = desk.inspect(run_id)
    raised = [one for one in seen.items("/data/audit") if one["eventType"] == "run.raise_budget"]
    assert [one["actor"] for one in raised] == ["ada"]
    assert seen.at("/data/budget/limits/maxTurns") == 2
    assert seen.at("/data/budget/exceeded") is None


def test_a_person_is_told_how_to_go_on(desk: Desk) -> None:
    result = run_cli("run", str(BUDGET), "--workspace", str(desk.folder), "--db", str(desk.db))
    assert "--raise-budget maxProviderRequests=" in result.expect(4).stdout


def test_wrong_raises_are_refused_with_what_was_expected(desk: Desk) -> None:
    run_id = _spent(desk).text("/error/runId")
    for wrong in ("maxTurns", "maxTurns=", "maxTurns=-1", "maxTurns=1e3", "=4"):
        result = desk.on("resume", run_id, "--raise-budget", wrong).expect(2)
        assert "NAME=VALUE" in result.text("/error/message")
    near = desk.on("resume", run_id, "--raise-budget", "maxTurn=4").expect(2)
    assert "maxTurns" in near.text("/error/message")


def test_a_run_within_its_budget_cannot_be_raised(desk: Desk) -> None:
    run_id = desk.run(V1 / "fake-provider.yaml").expect(0).text("/data/runId")
    result = run_json(
        "resume", run_id, "--db", str(desk.db), "--raise-budget", "maxTurns=4"
    ).expect(3)
    assert "succeeded" in result.text("/error/message")
