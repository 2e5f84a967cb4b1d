"""Retries of a task with several effects: what an attempt confirmed is not done again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from agentctl.effects import registry
from agentctl.effects.fake import FakeProvider
from agentctl.errors import EffectError
from agentctl.store.verify import verify_run
from agentctl.testing import CrashPoint, SimulatedCrash
from tests.engine.harness import Bench, child, task, workflow
from tests.engine.test_agents import READ_TOOL

if TYPE_CHECKING:
    from agentctl import Engine
    from agentctl.engine.ports import EffectContext
    from agentctl.engine.records import EffectRecord
    from agentctl.jsonvalue import JsonValue

WRITE_TOOL = {
    **READ_TOOL,
    "kind": "builtin.workspace.write",
    "description": "Write one file.",
    "inputSchema": {"type": "object"},
    "outputSchema": {"type": "object"},
    "capability": "filesystem.write",
    "effectClass": "workspace_mutate",
    "idempotency": "at_most_once",
}


class Unsteady(FakeProvider):
    """A provider that is unavailable once, when it is given a tool's result."""

    def __init__(self) -> None:
        self.failed = False

    async def execute(self, effect: EffectRecord, context: EffectContext) -> JsonValue:
        """Fail once on the second turn."""
        messages: Any = child(effect.input, "messages")
        if len(messages) > 1 and not self.failed:
            self.failed = True
            raise EffectError("try again later", code="provider_unavailable", retryable=True)
        return await super().execute(effect, context)


@pytest.fixture
def unsteady(monkeypatch: pytest.MonkeyPatch) -> Unsteady:
    """Put the unsteady provider in the place of the steady one."""
    provider = Unsteady()
    monkeypatch.setitem(registry._MAKERS, "model.fake", lambda: provider)
    return provider


def writing_agent(prompt: str = "hello") -> dict[str, Any]:
    """Return an agent that writes a file with a tool that must run at most once."""
    options = {"toolInput": {"path": "out/a.txt", "content": "x"}, "finalText": "done"}
    return workflow(
        task("ask", "agent:a", with_={"prompt": prompt}, retry={"maxAttempts": 3}),
        providers={"fake": {"kind": "fake"}},
        agents={
            "a": {
                "provider": "fake",
                "model": "scripted",
                "instructions": "Write it.",
                "providerOptions": options,
                "tools": ["write"],
            }
        },
        tools={"write": WRITE_TOOL},
        outputs={"answer": "${{ tasks.ask.output.text }}"},
    )


def test_a_retry_goes_on_from_the_request_that_failed(bench: Bench, unsteady: Unsteady) -> None:
    (bench.folder / "out").mkdir()
    outcome = bench.run(writing_agent())
    assert outcome.state == "succeeded"
    assert unsteady.failed
    effects = bench.engine.history(outcome.run_id).effects
    assert [(one.name, one.operation, one.state) for one in effects] == [
        ("ask/1.0", "model.fake", "succeeded"),
        ("ask/1.1", "builtin.workspace.write", "succeeded"),
        ("ask/1.2", "model.fake", "failed"),
        ("ask/2.2", "model.fake", "succeeded"),
    ]


def test_a_broken_connection_leaves_doubt_about_what_must_not_happen_twice(bench: Bench) -> None:
    calls: list[str] = []

    @bench.engine.action("pay", idempotency="at_most_once")
    async def pay() -> None:
        calls.append("pay")
        raise ConnectionResetError("the peer went away")

    document = workflow(task("t", "action:pay", retry={"maxAttempts": 3}))
    outcome = bench.run(document)
    assert outcome.state == "failed"
    assert calls == ["pay"]
    (effect,) = bench.engine.history(outcome.run_id).effects
    assert effect.state == "uncertain"


def test_a_retry_sends_the_key_of_the_attempt_before_and_none_that_was_found_absent(
    bench: Bench,
) -> None:
    keys: list[str] = []

    def register(engine: Engine) -> None:
        @engine.action("work")
        async def work(idempotency_key: str) -> dict[str, int]:
            keys.append(idempotency_key)
            if len(keys) == 2:
                raise EffectError("not yet", retryable=True)
            return {}

    register(bench.reopened(CrashPoint(at=2)))
    with pytest.raises(SimulatedCrash):
        bench.run(workflow(task("t", "action:work", retry={"maxAttempts": 2})))
    register(bench.reopened())
    (run,) = bench.engine.store.list_runs()
    bench.engine.reconcile(run.id, "t/1.0", status="not_applied", actor="ada", reason="no trace")
    assert bench.engine.resume_sync(run.id).state == "succeeded"
    assert keys[2] == keys[1] != keys[0]
    effects = bench.engine.history(run.id).effects
    assert [one.name for one in effects] == ["t/1.0", "t/1.1", "t/2.1"]
    assert verify_run(bench.engine.store, run.id) == []
