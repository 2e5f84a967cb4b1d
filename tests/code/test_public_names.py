"""What a program that embeds agentctl may import."""

from __future__ import annotations

import pytest

import agentctl

PUBLIC = [
    "AgentctlError",
    "Diagnostic",
    "DocumentError",
    "EffectError",
    "Engine",
    "Event",
    "IllegalTransition",
    "Loaded",
    "PrerequisiteError",
    "RunHeld",
    "RunOutcome",
    "StateError",
    "StoreError",
    "UncertainEffect",
    "UnknownRun",
    "UsageError",
    "__version__",
]


def test_the_public_names_are_these() -> None:
    assert sorted(agentctl.__all__) == PUBLIC


@pytest.mark.parametrize("name", PUBLIC)
def test_a_public_name_can_be_imported(name: str) -> None:
    assert getattr(agentctl, name) is not None


def test_a_name_that_is_not_there_says_so() -> None:
    with pytest.raises(AttributeError, match="Engin"):
        _ = agentctl.Engin
