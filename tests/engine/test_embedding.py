"""The engine inside other programs: registered functions, events, loops, several engines."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Literal

import pytest

from agentctl import DocumentError, Engine, UsageError
from agentctl.errors import Bug
from tests.engine.harness import Bench, child, task, workflow

if TYPE_CHECKING:
    from pathlib import Path


def test_a_function_is_an_action_under_its_name(bench: Bench) -> None:
    @bench.engine.action("add", idempotency="pure")
    def add(left: int, right: int = 1) -> dict[str, int]:
        return {"sum": left + right}

    document = workflow(
        task("t", "action:add", with_={"left": "${{ inputs.n }}"}),
        inputs={"n": 0},
        outputs={"sum": "${{ tasks.t.output.sum }}"},
    )
    assert bench.run(document, n=4).output == {"sum": 5}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"lefft": 1}, "lefft"),
        ({"left": "one"}, "left"),
        ({"left": 1, "mode": "slow"}, "mode"),
        ({}, "left"),
    ],
)
def test_arguments_that_do_not_fit_fail_before_the_function_is_called(
    bench: Bench, given: dict[str, Any], said: str
) -> None:
    called: list[int] = []

    @bench.engine.action("add", idempotency="pure")
    async def add(left: int, mode: Literal["fast"] = "fast") -> dict[str, int]:
        called.append(left)
        return {}

    try:
        outcome = bench.run(workflow(task("t", "action:add", with_=given)))
    except DocumentError as error:
        assert any(said in one.message for one in error.diagnostics)
    else:
        assert outcome.state == "failed"
        assert said in str(outcome.error)
    assert called == []


def test_a_function_that_raises_is_a_definite_failure(bench: Bench) -> None:
    @bench.engine.action("work")
    async def work() -> dict[str, int]:
        raise LookupError("no such customer")

    outcome = bench.run(workflow(task("t", "action:work")))
    assert outcome.state == "failed"
    assert child(outcome.error, "message") == "LookupError: no such customer"
    assert bench.engine.history(outcome.run_id).effects[0].state == "failed"


def test_a_result_that_is_not_json_fails_its_task_by_name(bench: Bench) -> None:
    @bench.engine.action("work")
    async def work() -> object:
        return {"when": object()}

    outcome = bench.run(workflow(task("t", "action:work")))
    assert outcome.state == "failed"
    assert child(outcome.error, "code") == "not_json"


def test_a_parameter_that_json_cannot_express_is_refused(bench: Bench) -> None:
    def work(when: complex) -> None:
        del when

    with pytest.raises(UsageError, match="complex"):
        bench.engine.action("work")(work)


def test_a_name_is_registered_once(bench: Bench) -> None:
    async def work() -> None:
        return

    bench.engine.action("work")(work)
    with pytest.raises(UsageError, match="already"):
        bench.engine.action("work")(work)


def test_an_engine_works_inside_a_running_loop(bench: Bench) -> None:
    async def host() -> str:
        outcome = await bench.engine.start(bench.engine.load(workflow(task("t", "action:assign"))))
        return outcome.state

    assert asyncio.run(host()) == "succeeded"


def test_a_sync_call_on_a_running_loop_says_what_to_do(bench: Bench) -> None:
    async def host() -> None:
        bench.engine.start_sync(bench.engine.load(workflow(task("t", "action:assign"))))

    with pytest.raises(Bug, match="await"):
        asyncio.run(host())


def test_two_engines_in_one_process_run_at_the_same_time(tmp_path: Path) -> None:
    meeting: list[asyncio.Event] = []

    def engine(name: str, own: int, other: int) -> Engine:
        made = Engine(tmp_path / f"{name}.db", workspace=tmp_path)

        @made.action("meet")
        async def meet() -> dict[str, str]:
            meeting[own].set()
            await meeting[other].wait()
            return {"name": name}

        return made

    async def host() -> list[str]:
        meeting.extend((asyncio.Event(), asyncio.Event()))
        first, second = engine("one", 0, 1), engine("two", 1, 0)
        document = workflow(task("t", "action:meet"))
        outcomes = await asyncio.gather(
            first.start(first.load(document)), second.start(second.load(document))
        )
        first.close()
        second.close()
        return [one.state for one in outcomes]

    assert asyncio.run(host()) == ["succeeded", "succeeded"]


def test_two_runs_of_one_engine_run_at_the_same_time(bench: Bench) -> None:
    arrived: list[int] = []

    @bench.engine.action("meet")
    async def meet() -> dict[str, int]:
        arrived.append(1)
        while len(arrived) < 2:
            await asyncio.sleep(0)
        return {}

    async def host() -> list[str]:
        loaded = bench.engine.load(workflow(task("t", "action:meet")))
        outcomes = await asyncio.gather(bench.engine.start(loaded), bench.engine.start(loaded))
        return [one.state for one in outcomes]

    assert asyncio.run(host()) == ["succeeded", "succeeded"]


def test_every_transition_is_told_once_after_it_is_stored(bench: Bench) -> None:
    outcome = bench.run(workflow(task("t", "action:assign")))
    stored = bench.engine.store.transitions(outcome.run_id)
    told = [(one.sequence, one.event_type) for one in bench.events]
    assert told == [(number, f"{one.machine}.{one.event}") for number, one in stored]


def test_a_subscription_can_end(bench: Bench) -> None:
    seen: list[str] = []
    end = bench.engine.subscribe(lambda event: seen.append(event.event_type))
    end()
    bench.run(workflow(task("t", "action:assign")))
    assert seen == []


def test_inspect_is_json_that_names_everything(bench: Bench) -> None:
    outcome = bench.run(workflow(task("t", "action:assign", with_={"a": 1})))
    found = bench.engine.inspect(outcome.run_id)
    assert child(found, "run", "state") == "succeeded"
    assert child(found, "tasks", 0, "taskId") == "t"
    assert child(found, "audit", 0, "eventType")


def test_a_cancelled_host_leaves_a_run_that_can_be_resumed(bench: Bench) -> None:
    calls: list[int] = []

    @bench.engine.action("work", idempotency="idempotent")
    async def work() -> dict[str, int]:
        calls.append(1)
        if len(calls) == 1:
            await asyncio.get_running_loop().create_future()
        return {}

    async def host() -> None:
        loaded = bench.engine.load(workflow(task("t", "action:work")))
        running = asyncio.create_task(bench.engine.start(loaded))
        while not calls:
            await asyncio.sleep(0)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

    asyncio.run(host())
    (run,) = bench.engine.store.list_runs()
    assert run.state == "running"
    assert bench.engine.resume_sync(run.id).state == "succeeded"


def test_an_enormous_result_fails_its_task_and_not_the_engine(bench: Bench) -> None:
    @bench.engine.action("work")
    async def work() -> dict[str, str]:
        return {"text": "x" * (200 << 20)}

    outcome = bench.run(workflow(task("t", "action:work")))
    assert child(outcome.error, "code") == "output_too_large"


def test_an_output_that_grows_by_repetition_is_bounded(bench: Bench) -> None:
    given = {f"part{n}": "${{ inputs.text }}" for n in range(400)}
    document = workflow(task("t", "action:assign", with_=given), inputs={"text": ""})
    outcome = bench.run(document, text="x" * 100_000)
    assert child(outcome.error, "code") == "output_too_large"
