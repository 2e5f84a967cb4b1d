"""Functions in processes of their own: what they return, raise, and how they are stopped."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING, Any, cast

import pytest

from agentctl import UsageError
from tests.effects.bounded import children
from tests.engine import computing
from tests.engine.harness import task, workflow

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentctl import RunOutcome
    from tests.engine.harness import Bench


def run(bench: Bench, call: Callable[..., object], **more: Any) -> RunOutcome:
    """Run a function as the one task of a workflow."""
    bench.engine.action("act", runs_in="process")(call)
    document = workflow(task("it", "action:act", **more))
    return bench.engine.start_sync(bench.engine.load(document))


def effect_of(bench: Bench, outcome: RunOutcome) -> tuple[str, dict[str, Any]]:
    """Return state and error of the one effect."""
    (effect,) = bench.engine.store.load_run(outcome.run_id).effects
    return effect.state, cast("dict[str, Any]", effect.error)


def test_a_function_in_a_process_gives_its_result_and_gets_its_key(bench: Bench) -> None:
    outcome = run(bench, computing.square, with_={"number": 7})
    history = bench.engine.store.load_run(outcome.run_id)
    output = cast("dict[str, Any]", history.tasks[0].output)
    assert (output["square"], output["key"]) == (49, history.effects[0].idempotency_key)
    assert output["pid"] != os.getpid()


def test_a_coroutine_in_a_process_is_awaited(bench: Bench) -> None:
    outcome = run(bench, computing.square_later, with_={"number": 3})
    assert bench.engine.store.load_run(outcome.run_id).tasks[0].output == 9


def test_an_error_of_a_function_in_a_process_means_what_it_means_in_a_thread(
    bench: Bench,
) -> None:
    state, error = effect_of(bench, run(bench, computing.doubt))
    assert state == "uncertain"
    assert (error["code"], error["message"], error["detail"]) == (
        "custom",
        "who knows",
        {"seen": 1},
    )


def test_a_process_that_ends_without_a_word_leaves_doubt(bench: Bench) -> None:
    state, error = effect_of(bench, run(bench, computing.break_off))
    assert (state, error["code"]) == ("uncertain", "process_killed")


def test_a_result_that_json_cannot_hold_is_a_definite_failure(bench: Bench) -> None:
    state, error = effect_of(bench, run(bench, computing.nothing))
    assert (state, error["code"]) == ("failed", "not_json")


def test_a_function_that_computes_is_stopped_with_its_child_by_a_cancellation(
    bench: Bench,
) -> None:
    note = bench.folder / "note"
    bench.engine.action("act", runs_in="process")(computing.spin)
    loaded = bench.engine.load(workflow(task("it", "action:act", with_={"note": str(note)})))

    async def cancelled() -> RunOutcome:
        running = asyncio.create_task(bench.engine.start(loaded))
        while not note.exists():
            await asyncio.sleep(0)
        (run_id,) = [one.id for one in bench.engine.store.list_runs()]
        bench.engine.cancel_sync(run_id, actor="test", reason="enough")
        return await running

    outcome = asyncio.run(cancelled())
    assert outcome.state == "cancelled"
    assert effect_of(bench, outcome)[0] == "uncertain"
    assert children() == []


def test_a_function_that_no_other_process_can_import_is_refused(bench: Bench) -> None:
    def inner() -> None:
        """Stand inside another function."""

    with pytest.raises(UsageError, match="no other process can import it"):
        bench.engine.action("act", runs_in="process")(inner)
