"""What is told of a policy beforehand is what happens when the tasks run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import pytest

from agentctl.engine.policy_view import policy_view
from tests.engine.harness import Bench, task, workflow
from tests.engine.test_agents import READ_TOOL

if TYPE_CHECKING:
    from agentctl import Engine

WRITE, READ, WORK, MODEL, TOOL = (
    "builtin.write",
    "builtin.read",
    "python.function",
    "model.fake",
    "builtin.workspace.read",
)


def document(policy: dict[str, Any], override: str = "policy") -> dict[str, Any]:
    """Return one task of each kind; a failure of one leaves the others alone."""
    alone = {"failure": "continue"}
    return workflow(
        task("set", "action:assign", with_={"x": 1}),
        task("write", "action:write", with_={"path": "out/a", "content": "x"}, **alone),
        task("read", "action:read", with_={"path": "note.txt"}, **alone),
        task("work", "action:work", with_={}, **alone),
        task("speak", "agent:a", with_={"prompt": "hello"}, **alone),
        policy={"writableRoots": ["out"], **policy},
        providers={"fake": {"kind": "fake"}},
        agents={
            "a": {
                "provider": "fake",
                "model": "m",
                "instructions": "Do it.",
                "tools": ["look"],
                "providerOptions": {"toolInput": {"path": "note.txt"}, "finalText": "read"},
            }
        },
        tools={"look": {**READ_TOOL, "approval": override}},
    )


def register(engine: Engine) -> None:
    @engine.action("work", idempotency="idempotent")
    async def work() -> dict[str, int]:
        return {}


def told(bench: Bench, source: dict[str, Any]) -> dict[str, tuple[str, str]]:
    """Return verdict and rule of every operation."""
    view = policy_view(bench.engine.load(source).plan)
    return {
        cast("str", one["operation"]): (cast("str", one["verdict"]), cast("str", one["rule"]))
        for one_task in cast("list[dict[str, Any]]", view["tasks"])
        for one in one_task["requests"]
    }


def seen(bench: Bench, source: dict[str, Any]) -> dict[str, str]:
    """Run with every question approved, and return what became of every operation."""
    outcome = bench.run(source)
    while outcome.exit_code == 3:
        for one in bench.engine.history(outcome.run_id).approvals:
            if one.state == "pending":
                bench.engine.decide_approval(one.id, approve=True, actor="ada")
        outcome = bench.engine.resume_sync(outcome.run_id)
    history = bench.engine.history(outcome.run_id)
    asked = {one.effect_id for one in history.approvals}
    return {one.operation: "asks" if one.id in asked else "allowed" for one in history.effects}


@pytest.mark.parametrize(
    ("policy", "override"),
    [
        ({"approval": "never"}, "policy"),
        ({"approval": "never"}, "always"),
        ({"approval": "mutations"}, "policy"),
        ({"approval": "high_risk"}, "policy"),
        ({"approval": "always"}, "policy"),
        ({"approval": "always"}, "never"),
        ({"approval": "never", "toolsDeny": ["function.call", "write"]}, "policy"),
        ({"approval": "always", "toolsDeny": ["look"]}, "never"),
        ({"approval": "mutations", "toolsAllow": ["filesystem.read"]}, "policy"),
        ({"approval": "always", "toolsAllow": ["work"], "toolsDeny": ["read"]}, "policy"),
    ],
)
def test_what_is_told_is_what_happens(bench: Bench, policy: dict[str, Any], override: str) -> None:
    (bench.folder / "note.txt").write_text("evidence", encoding="utf-8")
    register(bench.engine)
    source = document(policy, override)
    verdicts = {name: verdict for name, (verdict, _) in told(bench, source).items()}
    assert set(verdicts) == {WRITE, READ, WORK, MODEL, TOOL}
    done = seen(bench, source)
    assert {name: done.get(name, "denied") for name in verdicts} == verdicts


def test_the_rule_that_decides_is_named(bench: Bench) -> None:
    register(bench.engine)
    policy = {
        "approval": "mutations",
        "toolsAllow": ["filesystem.write", "filesystem.read", "look"],
        "toolsDeny": ["other", "read"],
    }
    assert told(bench, document(policy, "always")) == {
        WRITE: ("asks", "spec.policy.approval"),
        READ: ("denied", "spec.policy.toolsDeny[1]"),
        WORK: ("denied", "spec.policy.toolsAllow"),
        MODEL: ("allowed", "spec.policy.approval"),
        TOOL: ("asks", "spec.tools.look.approval"),
    }


def test_a_task_that_asks_for_nothing_is_told_too(bench: Bench) -> None:
    register(bench.engine)
    view = policy_view(bench.engine.load(document({"nonInteractive": "fail"})).plan)
    tasks = cast("list[dict[str, Any]]", view["tasks"])
    assert [one["task"] for one in tasks if not one["requests"]] == ["set"]
    assert view["policy"] == {
        "approval": "mutations",
        "nonInteractive": "fail",
        "approvalExpiresSeconds": None,
        "toolsAllow": [],
        "toolsDeny": [],
    }
