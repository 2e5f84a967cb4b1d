"""Random workflows that fail at random: what heals them gives what a clean run gives.

The planner is followed, as its own advice says: what cannot serve again is begun at. What it
forbids is not done.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from agentctl.errors import RecoveryBlocked
from agentctl.machines.names import RunStates, TaskStates
from agentctl.store.verify import verify_run
from tests.engine.random_workflows import TASKS_MAX, Bench, Shape, changes, shapes

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentctl import RunOutcome
    from agentctl.engine.recovery.planning import RecoveryPlan
    from agentctl.engine.recovery.rules import Rule

EXAMPLES = 120
# A plan that forbids this has to be changed by a person; the others say where to begin.
FOR_GOOD: set[Rule] = {"confirmed_mutation"}


def clean(shape: Shape) -> Any:
    """Return what a workflow gives when nothing fails."""
    with Bench() as bench:
        return bench.results(bench.run(shape).run_id)


def broken(bench: Bench, shape: Shape, fails: set[str]) -> str:
    """Return a run in which some calls failed, after they were mended."""
    bench.fails = fails
    run_id = bench.run(shape).run_id
    bench.fails = set()
    bench.calls.clear()
    return run_id


def rules(plan: RecoveryPlan) -> set[Rule]:
    """Return what stands against a plan."""
    return {one.rule for one in plan.blocked}


def heal(
    bench: Bench,
    plan: RecoveryPlan,
    execute: Callable[[], RunOutcome],
    wanted: Any,
) -> None:
    """Execute a plan, and compare the result with a clean run and the effects with the plan."""
    assert bench.calls == []
    if not plan.compatible:
        with pytest.raises(RecoveryBlocked):
            execute()
        assert bench.calls == []
        assert rules(plan) <= FOR_GOOD
        event("forbidden")
        return
    outcome = execute()
    assert bench.results(outcome.run_id) == wanted
    assert len(bench.calls) <= plan.estimates["effects"]
    asked = {one.task_id for one in bench.engine.history(outcome.run_id).effects}
    assert asked <= set(plan.rerun)
    assert verify_run(bench.engine.store, outcome.run_id) == []
    event(f"{outcome.state}: reused some" if plan.reused else f"{outcome.state}: ran all")


def begun_anew(plan_with: Callable[[list[str]], RecoveryPlan], roots: list[str]) -> list[str]:
    """Return where to begin, following the plan's own advice until nothing but a ban is left."""
    for _ in range(10 * TASKS_MAX):
        plan = plan_with(roots)
        named = {str(one.task_id) for one in plan.blocked if one.rule not in FOR_GOOD}
        more = named - set(roots)
        if not more:
            break
        roots = [*roots, *sorted(more)]
    return roots


def failures(shape: Shape) -> st.SearchStrategy[set[str]]:
    """Return calls that fail."""
    names = shape.calling()
    return st.sets(st.sampled_from(names), max_size=3) if names else st.just(set())


@settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_a_retry_gives_what_a_clean_run_gives(data: st.DataObject) -> None:
    shape = data.draw(shapes())
    fails = data.draw(failures(shape))
    with Bench() as bench:
        source = broken(bench, shape, fails)
        loaded = bench.engine.load(shape.document())
        begins: dict[str, Any] = {"failed": True}
        plan = bench.engine.plan_retry(loaded, source, **begins)
        if not rules(plan) <= FOR_GOOD:

            def plan_with(roots: list[str]) -> RecoveryPlan:
                return bench.engine.plan_retry(
                    loaded, source, roots=roots, restart_successful=True
                )

            begins = {"roots": begun_anew(plan_with, plan.roots), "restart_successful": True}
            plan = bench.engine.plan_retry(loaded, source, **begins)
        heal(
            bench,
            plan,
            lambda: bench.engine.retry_sync(loaded, source, **begins),
            clean(shape),
        )


@settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_a_repair_gives_what_a_clean_run_of_the_target_gives(data: st.DataObject) -> None:
    shape = data.draw(shapes())
    fails = data.draw(failures(shape))
    target = data.draw(changes(shape))
    with Bench() as bench:
        source = broken(bench, shape, fails)
        loaded = bench.engine.load(target.document())
        tasks = bench.engine.history(source).tasks
        failed = [one.id for one in tasks if one.state == TaskStates.failed]
        left = [one for one in failed if one in loaded.plan.tasks]

        def plan_with(roots: list[str]) -> RecoveryPlan:
            return bench.engine.plan_repair(loaded, source, roots=roots, restart_successful=True)

        roots = begun_anew(plan_with, left or [loaded.plan.order[-1]])
        heal(
            bench,
            plan_with(roots),
            lambda: bench.engine.repair_sync(loaded, source, roots=roots, restart_successful=True),
            clean(target),
        )


def test_the_random_workflows_are_what_they_say() -> None:
    """They compile, and most of them run to an end without a failure."""
    ends: list[str] = []

    @settings(max_examples=50, database=None, derandomize=True)
    @given(shapes())
    def collect(shape: Shape) -> None:
        ends.append(clean(shape)[0])

    collect()
    assert ends.count(RunStates.succeeded) == len(ends)
