"""What a policy allows and when a person is asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agentctl.engine.kinds import KINDS, TOOLS, kind_of
from agentctl.engine.policy import Policy, program_allowed
from agentctl.providers import PROVIDERS

if TYPE_CHECKING:
    from agentctl.engine.policy import ApprovalMode
    from agentctl.engine.records import EffectClass, Risk


def test_a_denied_capability_or_name_is_refused_with_the_reason() -> None:
    policy = Policy(tools_deny=frozenset({"filesystem.write", "charge"}))
    assert policy.denial("filesystem.write", ("report",)) == (
        "policy.toolsDeny denies filesystem.write"
    )
    assert policy.denial("function.call", ("charge",)) == "policy.toolsDeny denies charge"
    assert policy.denial("filesystem.read", ("look",)) is None


def test_an_allow_list_allows_nothing_else_and_deny_wins() -> None:
    policy = Policy(
        tools_allow=frozenset({"read_fixture", "process.exec"}), tools_deny=frozenset({"rm"})
    )
    assert policy.denial("filesystem.read", ("read_fixture",)) is None
    assert policy.denial("process.exec", ("ls",)) is None
    assert policy.denial("process.exec", ("rm",)) == "policy.toolsDeny denies rm"
    assert policy.denial("filesystem.write", ("w",)) == (
        "policy.toolsAllow does not list filesystem.write or w"
    )


@pytest.mark.parametrize(
    ("mode", "effect_class", "risk", "asked"),
    [
        ("never", "process_execution", "critical", False),
        ("mutations", "workspace_mutate", "low", True),
        ("mutations", "external_mutate", "low", True),
        ("mutations", "process_execution", "low", True),
        ("mutations", "remote_agent", "low", True),
        ("mutations", "observe", "critical", False),
        ("mutations", "model", "low", False),
        ("high_risk", "workspace_mutate", "medium", False),
        ("high_risk", "observe", "high", True),
        ("high_risk", "observe", "critical", True),
        ("always", "observe", "low", True),
        ("always", "model", "low", True),
    ],
)
def test_each_approval_mode_asks_for_its_own_effects(
    mode: ApprovalMode, effect_class: EffectClass, risk: Risk, asked: bool
) -> None:
    assert Policy(approval=mode).needs_approval(effect_class, risk) is asked


def test_a_tools_own_setting_wins_over_the_policy() -> None:
    assert Policy(approval="never").needs_approval("observe", "low", "always")
    assert not Policy(approval="always").needs_approval("workspace_mutate", "high", "never")


def test_check_mode_asks_nobody() -> None:
    policy = Policy(approval="always").without_approval()
    assert not policy.needs_approval("workspace_mutate", "high")


def test_a_policy_is_read_back_from_a_plans_definitions() -> None:
    policy = Policy.from_definitions(
        {
            "policy": {
                "approval": "high_risk",
                "nonInteractive": "fail",
                "toolsAllow": ["a"],
                "toolsDeny": ["b"],
            }
        }
    )
    assert policy == Policy(
        approval="high_risk",
        non_interactive="fail",
        tools_allow=frozenset({"a"}),
        tools_deny=frozenset({"b"}),
    )


def test_a_program_is_known_by_the_last_part_of_its_path() -> None:
    assert program_allowed("/usr/bin/true", ["true"])
    assert not program_allowed("/usr/bin/true", ["/usr/bin/true"])


def test_every_kind_stands_in_its_table_under_its_own_name() -> None:
    assert all(kind_of(name).kind == name for name in KINDS)
    assert all(facts.kind == name for name, facts in PROVIDERS.items())
    assert all(facts is None or facts.kind == name for name, facts in TOOLS.items())
    pure = {name for name, facts in KINDS.items() if facts.effect_class == "pure"}
    assert pure == {"builtin.assign", "builtin.assert"}
