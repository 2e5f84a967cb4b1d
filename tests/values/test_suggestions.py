"""Which known name a wrong one is taken for, if any."""

from __future__ import annotations

import pytest

from agentctl.suggest import did_you_mean, nearest

KNOWN = ["CronCreate", "Read", "deploy", "maxTurns"]


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("read", "Read"),
        ("Raed", "Read"),
        ("deploy2", "deploy"),
        ("maxTurn", "maxTurns"),
        ("max_turns", "maxTurns"),
        ("CronCreat", "CronCreate"),
    ],
)
def test_a_slip_is_taken_for_the_name_that_was_meant(wrong: str, right: str) -> None:
    assert nearest(wrong, KNOWN) == right
    assert did_you_mean(wrong, KNOWN) == f"did you mean {right!r}?"


@pytest.mark.parametrize("wrong", ["Frobnicate", "x", "", "write"])
def test_a_name_like_no_other_is_taken_for_none(wrong: str) -> None:
    assert nearest(wrong, KNOWN) is None
    assert did_you_mean(wrong, KNOWN) == "known: CronCreate, Read, deploy, maxTurns"
