"""Every state that the composed machines can reach keeps the rules, and a broken rule is found."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
from attr import evolve

from agentctl.engine.ledger import REPEATABLE
from agentctl.machines.compiled import EFFECT, RECONCILIATION, RUN, TASK
from tests.code.tree import ROOT
from tests.model.explore import (
    FALSE_RECORD,
    SCOPES,
    STRANDED,
    UNFINISHED,
    edges,
    explore,
    row,
)
from tests.model.one_task import CONFIRMED_AGAIN, REPEATED, TWO_OWNERS

if TYPE_CHECKING:
    from agentctl.machines.table import Table

ANY, TRUE = "2 tasks, whatever an operator finds", "2 tasks, an operator who finds what is true"

# Events of a whole subject that the model leaves out: approvals, budgets, quotas, working memory,
# what a condition or a route decides, copies of finished runs, and a session that closes what was
# found.
LEFT_OUT: list[tuple[Table[Any, Any], str]] = [
    (RUN, "record_success record_failure record_cancellation pause_for_approval reject abandon"),
    (RUN, "wait_for_quota time_out exhaust_budget raise_budget migrate_memory"),
    (TASK, "skip_by_condition skip_by_route skip_by_guard await_budget fund abandon"),
    (TASK, "await_quota replenish"),
    (TASK, "reuse record_success record_failure record_skip record_cancellation"),
    (TASK, "await_approval approve ask_again reject expire"),
    (EFFECT, "hold withdraw start_approved reject void expire"),
    (RECONCILIATION, "note archive"),
]

# What is broken, where, what is found, and by which steps at the least.
BROKEN: dict[str, tuple[str, dict[str, Any], str, str]] = {
    "a lost effect is dispatched again": (
        ANY,
        {"repeatable": REPEATABLE | {"at_most_once"}},
        REPEATED,
        "own, start 0, dispatch 1, take over, dispatch 1",
    ),
    "a doubt is taken for an absence": (
        ANY,
        {"keeps_doubts": False},
        REPEATED,
        "own, start 0, dispatch 1, take over, dispatch 1",
    ),
    "an effect is dispatched before it is stored": (
        ANY,
        {"persists_first": False},
        REPEATED,
        "own, start 0, dispatch 1, crash, own, write 1, dispatch 1",
    ),
    "a lost answer is taken for a refusal": (
        TRUE,
        {"doubts": False},
        FALSE_RECORD,
        "own, start 0, dispatch 1, happen 1, time_out 1",
    ),
    "an owner that lost the run may write": (
        ANY,
        {"is_fenced": False},
        TWO_OWNERS,
        "own, start 0, dispatch 1, fence, write late 1",
    ),
    "a confirmed effect is forgotten": (
        ANY,
        {"recalls": False},
        CONFIRMED_AGAIN,
        "own, start 0, crash, apply 1, own, dispatch 1",
    ),
    "a run ends with open tasks": (ANY, {"cleans_up": False}, UNFINISHED, "cancel"),
    "nobody can settle a doubt": (
        ANY,
        {"has_operator": False},
        STRANDED,
        "own, start 0, crash",
    ),
}


PAGE = (ROOT / "docs" / "durability.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("scope", SCOPES)
def test_every_reachable_state_keeps_every_rule_and_the_page_counts_them(scope: str) -> None:
    seen = explore(SCOPES[scope])
    assert seen.found is None
    assert row(scope, seen.states, seen.transitions) in PAGE.splitlines()


def test_the_page_adds_up() -> None:
    rows = re.findall(r"^\| ([^|]+) \| ([\d,]+) \| ([\d,]+) \|$", PAGE, re.MULTILINE)
    counted = {name: (int(a.replace(",", "")), int(b.replace(",", ""))) for name, a, b in rows}
    together = counted.pop("all of them")
    assert counted.keys() == SCOPES.keys()
    assert together == tuple(map(sum, zip(*counted.values(), strict=True)))


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_rule_is_found_by_the_shortest_way(name: str) -> None:
    scope, changes, problem, trace = BROKEN[name]
    found = explore(evolve(SCOPES[scope], **changes)).found
    assert found is not None
    assert (found.problem, ", ".join(found.trace)) == (problem, trace)


def test_every_event_is_tried_but_those_of_subjects_left_out() -> None:
    tried = {(machine, event) for machine, _, event in edges()}
    tables: list[Table[Any, Any]] = [RUN, TASK, EFFECT, RECONCILIATION]
    untried = {(one.name, event) for one in tables for event in one.events} - tried
    assert untried == {(one.name, event) for one, names in LEFT_OUT for event in names.split()}
