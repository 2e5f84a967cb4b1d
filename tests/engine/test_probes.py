"""Probes: what the compiler refuses, and what an answer settles."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from agentctl import DocumentError, UncertainEffect
from agentctl.errors import EffectCertain, ProbeMissing
from agentctl.store.verify import verify_run
from tests.engine.harness import Bench, child, task, workflow
from tests.engine.test_reconciliation import World, approved_and_crashed, crashed

if TYPE_CHECKING:
    from agentctl import Engine
    from agentctl.jsonvalue import JsonObject

APPLIED = {"status": "applied", "result": {"n": 5}}
WITH: JsonObject = {
    "key": "${{ effect.idempotencyKey }}",
    "n": "${{ effect.input.n }}",
    "where": "${{ inputs.where }}",
}


def document(**spec: Any) -> dict[str, Any]:
    return workflow(task("t", "action:work", with_={"n": 5}), inputs={"where": "north"}, **spec)


class Asking(World):
    """A world with a probe whose answer is known beforehand."""

    def __init__(self, answer: object, mode: str = "manual") -> None:
        super().__init__()
        self.answer, self.mode = answer, mode
        self.asked: list[tuple[str, int, str]] = []

    def register(self, engine: Engine, **more: Any) -> None:
        """Register the action and its probe."""
        probe = {"uses": "action:look", "with": WITH, "mode": self.mode}
        super().register(engine, probe=probe, **more)

        @engine.action("look", idempotency="idempotent")
        async def look(key: str, n: int, where: str) -> object:
            self.asked.append((key, n, where))
            if isinstance(self.answer, Exception):
                raise self.answer
            return self.answer


def test_a_valid_answer_settles_and_is_kept_as_evidence(bench: Bench) -> None:
    world = Asking(APPLIED)
    run_id = crashed(bench, world, document(), at=2)
    with pytest.raises(UncertainEffect):
        raise_until_settled(bench, run_id)
    (probed,) = bench.engine.probe_sync(run_id)
    assert (probed.effect_name, probed.status) == ("t/1.0", "applied")
    assert world.asked == [(world.calls[0][1], 5, "north")]
    (found,) = bench.engine.history(run_id).reconciliations
    assert (found.state, found.actor) == ("applied", "probe:look")
    assert child(found.evidence, "request", "n") == 5
    assert child(found.evidence, "answer") == APPLIED
    assert bench.engine.resume_sync(run_id).state == "succeeded"
    assert len(world.calls) == 1
    assert verify_run(bench.engine.store, run_id) == []


def raise_until_settled(bench: Bench, run_id: str) -> None:
    """Resume once, which finds the doubt, and once more, which refuses it."""
    assert bench.engine.resume_sync(run_id).exit_code == 3
    bench.engine.resume_sync(run_id)


def test_an_answer_that_nothing_happened_lets_a_resume_ask_afresh(bench: Bench) -> None:
    world = Asking({"status": "not_applied", "evidence": "no such key"})
    run_id = crashed(bench, world, document(), at=2)
    (probed,) = bench.engine.probe_sync(run_id, ["t/1.0"])
    assert probed.status == "not_applied"
    assert bench.engine.resume_sync(run_id).state == "succeeded"
    assert len(world.calls) == 2
    with pytest.raises(EffectCertain):
        bench.engine.probe_sync(run_id, ["t/1.0"])


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ({"status": "unknown"}, "does not know"),
        ({"status": "yes"}, "status"),
        ({"status": "applied", "more": 1}, "more"),
        ({"status": "not_applied", "result": 1}, "only an applied"),
        ("applied", "answer"),
        (None, "answer"),
        (ValueError("no route"), "no route"),
    ],
)
def test_any_other_answer_leaves_the_doubt_and_is_kept(
    bench: Bench, answer: object, reason: str
) -> None:
    world = Asking(answer)
    run_id = crashed(bench, world, document(), at=2)
    for _ in range(2):
        (probed,) = bench.engine.probe_sync(run_id)
        assert probed.status is None
        assert reason in probed.reason
    (found,) = bench.engine.history(run_id).reconciliations
    assert (found.state, found.version) == ("open", 2)
    assert reason in str(found.reason)
    assert verify_run(bench.engine.store, run_id) == []
    # A person may still settle it.
    bench.engine.reconcile(run_id, "t/1.0", status="applied", actor="ada", reason="seen")


def test_an_automatic_probe_is_asked_by_a_resume(bench: Bench) -> None:
    world = Asking(APPLIED, mode="automatic")
    run_id = crashed(bench, world, document(), at=2)
    assert bench.engine.resume_sync(run_id).state == "succeeded"
    assert len(world.calls) == 1


def test_an_automatic_probe_that_does_not_know_leaves_the_run_parked(bench: Bench) -> None:
    world = Asking({"status": "unknown"}, mode="automatic")
    run_id = crashed(bench, world, document(), at=2)
    assert bench.engine.resume_sync(run_id).exit_code == 3
    with pytest.raises(UncertainEffect):
        bench.engine.resume_sync(run_id)
    assert len(world.calls) == 1


def test_an_automatic_probe_waits_for_a_person_where_the_policy_asks_one(bench: Bench) -> None:
    world = Asking(APPLIED, mode="automatic")
    run_id = approved_and_crashed(bench, world, document(policy={"approval": "mutations"}))
    assert bench.engine.resume_sync(run_id).exit_code == 3
    assert world.asked == []
    # Whoever asks for it by hand is that person.
    (probed,) = bench.engine.probe_sync(run_id)
    assert probed.status == "applied"


def test_an_effect_without_a_probe_is_not_asked_about(bench: Bench) -> None:
    run_id = crashed(bench, World(), document(), at=2)
    assert bench.engine.probe_sync(run_id) == []
    with pytest.raises(ProbeMissing):
        bench.engine.probe_sync(run_id, ["t/1.0"])


def refused(bench: Bench, **actions: Any) -> list[tuple[str, str]]:
    """Return code and path of every problem of a document with these actions."""
    with pytest.raises(DocumentError) as error:
        bench.engine.load(workflow(task("t", "action:assign"), actions=actions))
    return [(one.code, one.path) for one in error.value.diagnostics]


def probing(uses: str, **more: Any) -> dict[str, Any]:
    return {"kind": "builtin.write", "probe": {"uses": uses, **more}}


@pytest.mark.parametrize(
    ("probe", "code", "inside"),
    [
        (probing("action:asign"), "missing_reference", "uses"),
        (probing("agent:assign"), "missing_reference", "uses"),
        (probing("action:read"), "incompatible_state", "uses"),
        (probing("action:write"), "incompatible_state", "uses"),
        (probing("action:assign", mode="always"), "schema_violation", "mode"),
        (
            probing("action:assign", **{"with": {"x": "${{ memory.x }}"}}),
            "invalid_template",
            "with.x",
        ),
        (
            probing("action:assign", **{"with": {"x": "${{ effect.key }}"}}),
            "invalid_template",
            "with.x",
        ),
        (
            probing("action:assign", **{"with": {"x": "${{ effect }}"}}),
            "invalid_template",
            "with.x",
        ),
    ],
)
def test_a_probe_that_could_not_answer_is_refused(
    bench: Bench, probe: dict[str, Any], code: str, inside: str
) -> None:
    assert (code, f"spec.actions.doing.probe.{inside}") in refused(bench, doing=probe)


def test_a_probe_has_no_probe(bench: Bench) -> None:
    looking = {"kind": "builtin.assign", "probe": {"uses": "action:assign"}}
    found = refused(bench, doing=probing("action:looking"), looking=looking)
    assert ("incompatible_state", "spec.actions.doing.probe.uses") in found


def test_an_effect_is_named_by_a_probe_only(bench: Bench) -> None:
    with pytest.raises(DocumentError, match=r"effect\.id"):
        bench.engine.load(workflow(task("t", "action:assign", with_={"x": "${{ effect.id }}"})))


def test_an_input_that_a_probe_names_must_exist(bench: Bench) -> None:
    probe = probing("action:assign", **{"with": {"x": "${{ inputs.wher }}"}})
    with pytest.raises(DocumentError, match="wher"):
        bench.engine.load(
            workflow(
                task("t", "action:doing", with_={"path": "out/a", "content": "x"}),
                actions={"doing": probe},
                inputs={"where": 1},
            )
        )
