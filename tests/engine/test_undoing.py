"""The records of a compensation: they move with the inverses, whenever the process dies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from agentctl import EffectError
from agentctl.engine.operations.compensate import MODE
from agentctl.store.verify import verify_run
from agentctl.testing import CrashPoint, SimulatedCrash
from tests.engine.harness import Bench, child, task, workflow

if TYPE_CHECKING:
    from agentctl import Engine

# The run's own commits, then those of its compensation and of the findings at its source.
OWN_COMMITS = 3
UNDOING_COMMITS = 5
# Every commit but the one that makes the compensation.
POINTS = [
    (at, after)
    for at in range(OWN_COMMITS + 2, OWN_COMMITS + UNDOING_COMMITS + 1)
    for after in (False, True)
]
# Where a compensation stands while its inverse's effect does.
STANDS = {"started": "running", "succeeded": "compensated", None: "planned"}


def document(on_failure: str = "automatic") -> dict[str, Any]:
    """Return a workflow of two changes with inverses and a failure."""
    changes = [
        task(
            name,
            "action:change",
            *needs,
            with_={"name": name},
            compensate={"uses": "action:undo", "with": {"name": name}},
        )
        for name, needs in (("a", ()), ("b", ("a",)))
    ]
    end = task("end", "action:assert", "b", with_={"that": False})
    return workflow(*changes, end, compensation={"onFailure": on_failure})


def register(engine: Engine, calls: list[str], fails: set[str] | None = None) -> None:
    """Give an engine the change and its inverse."""

    @engine.action("change", idempotency="idempotent")
    async def change(name: str) -> dict[str, int]:
        calls.append(f"change {name}")
        return {}

    @engine.action("undo", idempotency="idempotent")
    async def undo(name: str) -> dict[str, int]:
        calls.append(f"undo {name}")
        if fails and name in fails:
            raise EffectError("not now")
        return {}


def undoing(bench: Bench) -> str:
    """Return the newest compensation."""
    return next(run.id for run in bench.engine.store.list_runs() if run.mode == MODE)


def stands(bench: Bench, run_id: str) -> dict[str, str]:
    """Return where each compensation of a run stands, by task."""
    return {one.task_id: one.state for one in bench.engine.history(run_id).compensations}


def events(bench: Bench, run_id: str) -> list[tuple[str, str]]:
    """Return the moves of compensations, in order."""
    moves = (move for _, move in bench.engine.store.transitions(run_id))
    return [(one.entity, one.event) for one in moves if one.machine == "compensation"]


def test_each_inverse_moves_the_compensation_of_its_effect(bench: Bench) -> None:
    calls: list[str] = []
    register(bench.engine, calls)
    outcome = bench.run(document())
    run_id = undoing(bench)
    assert calls == ["change a", "change b", "undo b", "undo a"]
    assert events(bench, run_id) == [
        ("b/1.0", "start"),
        ("b/1.0", "succeed"),
        ("a/1.0", "start"),
        ("a/1.0", "succeed"),
    ]
    shown = child(bench.engine.inspect(run_id), "compensations")
    assert {one["sourceEffect"]: one["state"] for one in shown} == {
        "a/1.0": "compensated",
        "b/1.0": "compensated",
    }
    sources = {one.id: one.name for one in bench.engine.history(outcome.run_id).effects}
    assert {sources[one["sourceEffectId"]] for one in shown} == set(sources.values())
    assert verify_run(bench.engine.store, run_id) == []


def test_a_record_that_its_journal_does_not_explain_is_named(bench: Bench) -> None:
    register(bench.engine, [])
    bench.run(document())
    run_id = undoing(bench)
    with bench.engine.store.database.writing() as connection:
        connection.execute("UPDATE compensation SET state = 'failed' WHERE task_id = 'a'")
    (found,) = verify_run(bench.engine.store, run_id)
    assert found.entity == "compensation a/1.0"
    assert "the journal ends at 'compensated'" in found.message


@pytest.mark.parametrize(("at", "after"), POINTS)
def test_an_automatic_compensation_that_crashed_is_finished_by_resume(
    bench: Bench, at: int, after: bool
) -> None:
    calls: list[str] = []
    register(bench.reopened(CrashPoint(at=at, after=after)), calls)
    with pytest.raises(SimulatedCrash):
        bench.run(document())
    register(bench.reopened(), calls)
    run_id = undoing(bench)
    left = bench.engine.history(run_id)
    effects = {one.task_id: one.state for one in left.effects}
    assert stands(bench, run_id) == {name: STANDS[effects.get(name)] for name in ("a", "b")}
    assert verify_run(bench.engine.store, run_id) == []
    if left.run.ended_at is None:
        assert bench.engine.resume_sync(run_id).state == "succeeded"
    assert stands(bench, run_id) == {"a": "compensated", "b": "compensated"}
    source = left.run.source_run_id or ""
    plan = bench.engine.plan_compensation(source)
    assert not plan.tasks
    assert len(plan.compensated) == 2
    assert calls[-1] == "undo a"
    assert calls.count("undo b") <= 2


def test_what_failed_is_tried_again_and_a_second_plan_leaves_out_what_is_done(
    bench: Bench,
) -> None:
    calls: list[str] = []
    fails = {"b"}
    register(bench.engine, calls, fails)
    source = bench.run(document("manual")).run_id
    first = bench.engine.compensate_sync(source)
    assert first.state == "failed"
    assert stands(bench, first.run_id) == {"a": "compensated", "b": "failed"}
    plan = bench.engine.plan_compensation(source)
    assert [one.task_id for one in plan.tasks] == ["b"]
    assert [one.state for one in plan.tasks] == ["failed"]
    assert len(plan.compensated) == 1
    fails.clear()
    calls.clear()
    second = bench.engine.compensate_sync(source)
    assert (second.state, calls) == ("succeeded", ["undo b"])
    assert stands(bench, second.run_id) == {"b": "compensated"}
    assert not bench.engine.plan_compensation(source).tasks
