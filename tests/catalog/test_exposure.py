"""Who sees which tool, held against the table of the specification."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

import pytest
from attr import evolve
from hypothesis import given
from hypothesis import strategies as st

from agentctl.catalog.exposure import GRANTING, REFUSING, Decision, decide, decide_call, expose
from agentctl.catalog.policy import Grant, Policy, Target
from agentctl.catalog.tools import CATALOG, CONTROL_PLANE_OWNED
from tests.catalog.specified import CLAIMS, GROUP_NAMES, MODES, ROLES, TOOLS

if TYPE_CHECKING:
    from agentctl.jsonvalue import JsonObject

IDS = [one["operationId"] for one in TOOLS]
OPEN = Policy(allows_secret_values=True, allows_escape_hatch=True)
EVERYTHING = Grant(role="board", mode="skill_test", claims=frozenset(CLAIMS))


def subsets(names: list[str]) -> st.SearchStrategy[frozenset[Any]]:
    """Return some, often most, of the names."""
    some = st.frozensets(st.sampled_from(names))
    return some | some.map(lambda left: frozenset(names) - left)


ROLE = st.sampled_from([*ROLES, " Board", "APPROVER ", "cEo\t", "boards"])
GRANTS = st.builds(
    Grant,
    role=ROLE,
    mode=st.sampled_from(MODES),
    claims=subsets(CLAIMS),
    groups=subsets(GROUP_NAMES),
    tools=st.frozensets(st.sampled_from(IDS), max_size=3),
)
POLICIES = st.builds(
    Policy,
    denied_operations=st.frozensets(st.sampled_from(IDS), max_size=4),
    denied_claims=st.frozensets(st.sampled_from(CLAIMS), max_size=4),
    allows_secret_values=st.booleans(),
    allows_escape_hatch=st.booleans(),
)


def expected(row: dict[str, Any], grant: Grant, policy: Policy) -> str:
    """Return the reason that the specification's rules give, in their order."""
    name, needed = row["operationId"], set(row["requiredClaims"])
    roles, group = row.get("allowedRoles"), row["optionalGroup"]
    rules = [
        ("operation_denied_by_policy", name in policy.denied_operations),
        ("operation_not_available_in_task_mode", grant.mode not in row["taskModes"]),
        ("actor_role_not_authorized", roles and grant.role.strip().lower() not in roles),
        ("required_claim_denied_by_policy", needed & policy.denied_claims),
        (
            "group_not_granted",
            group and not (group in grant.groups or name in grant.tools),
        ),
        ("required_claim_missing", not needed <= grant.claims),
        (
            "secret_value_access_disabled",
            name == "read_secret_value" and not policy.allows_secret_values,
        ),
        (
            "generic_escape_hatch_disabled",
            name == "generic_api_request" and not policy.allows_escape_hatch,
        ),
    ]
    for reason, holds in rules:
        if holds:
            return reason
    return "required_claims_granted" if group else "task_scoped_always_tool"


def visible(grant: Grant, policy: Policy) -> list[str]:
    """Return the names of what an agent sees."""
    return [one.operation_id for one in expose(grant, policy).visible]


def reasons(grant: Grant, policy: Policy) -> dict[str, str]:
    """Return the reason for every tool."""
    return {one.operation_id: one.reason for one in expose(grant, policy).decisions}


@given(GRANTS, POLICIES)
def test_every_tool_is_exposed_or_left_out_as_the_specification_says(
    grant: Grant, policy: Policy
) -> None:
    assert reasons(grant, policy) == {
        row["operationId"]: expected(row, grant, policy) for row in TOOLS
    }


def test_each_tool_with_each_role_mode_and_claim_is_as_the_specification_says() -> None:
    none: frozenset[str] = frozenset()
    every = [none, *(frozenset({one}) for one in CLAIMS), frozenset(CLAIMS)]
    for role, mode, claims, policy in product(ROLES, MODES, every, (Policy(), OPEN)):
        grant = Grant(role=role, mode=mode, claims=claims)
        found = reasons(grant, policy)
        assert found == {row["operationId"]: expected(row, grant, policy) for row in TOOLS}


@given(GRANTS, POLICIES)
def test_no_tool_is_visible_without_its_claims_its_mode_and_its_group(
    grant: Grant, policy: Policy
) -> None:
    for one in expose(grant, policy).visible:
        assert set(one.required_claims) <= grant.claims - policy.denied_claims
        assert grant.mode in one.task_modes
        assert not one.group or one.group in grant.groups or one.operation_id in grant.tools


@given(GRANTS, POLICIES)
def test_what_is_visible_stands_in_the_order_of_the_catalog_once(
    grant: Grant, policy: Policy
) -> None:
    found = expose(grant, policy)
    assert [one.operation_id for one in found.decisions] == IDS
    assert [one for one in CATALOG if one in found.visible] == list(found.visible)
    assert expose(grant, policy) == found


@given(GRANTS, POLICIES, subsets(CLAIMS), subsets(GROUP_NAMES))
def test_more_claims_or_groups_never_hide_a_tool(
    grant: Grant, policy: Policy, claims: frozenset[str], groups: frozenset[Any]
) -> None:
    more = evolve(grant, claims=grant.claims | claims, groups=grant.groups | groups)
    assert set(visible(grant, policy)) <= set(visible(more, policy))


@given(GRANTS, POLICIES, st.frozensets(st.sampled_from(IDS)), st.frozensets(st.sampled_from(IDS)))
def test_a_stricter_policy_never_shows_a_tool(
    grant: Grant, policy: Policy, denied: frozenset[str], other: frozenset[str]
) -> None:
    stricter = evolve(policy, denied_operations=policy.denied_operations | denied | other)
    assert set(visible(grant, stricter)) == set(visible(grant, policy)) - denied - other


@given(GRANTS, POLICIES)
def test_the_claims_of_a_decision_are_those_needed_each_granted_or_missing(
    grant: Grant, policy: Policy
) -> None:
    for one, row in zip(expose(grant, policy).decisions, TOOLS, strict=True):
        assert one.considered_claims == tuple(sorted(row["requiredClaims"]))
        assert set(one.granted_claims) | set(one.missing_claims) == set(one.considered_claims)
        assert not set(one.granted_claims) & set(one.missing_claims)
        assert set(one.granted_claims) <= grant.claims


@pytest.mark.parametrize("row", TOOLS, ids=lambda row: row["operationId"])
def test_a_tool_of_a_group_appears_with_its_claim_alone_and_not_with_all_others(
    row: dict[str, Any],
) -> None:
    name, needed = row["operationId"], frozenset(row["requiredClaims"])
    role = row.get("allowedRoles", ["agent"])[0]
    alone = Grant(role=role, mode="skill_test", claims=needed)
    assert name in visible(alone, OPEN)
    others = evolve(alone, claims=frozenset(CLAIMS) - needed)
    assert (name in visible(others, OPEN)) == (not needed)


def test_the_published_case_shows_eighteen_tools() -> None:
    claims = frozenset(
        {
            "discovery:tasks:read",
            "discovery:agents:read",
            "delegation:tasks:create",
            "governance:approvals:request",
        }
    )
    found = visible(Grant(role="agent", mode="standard", claims=claims), Policy())
    assert found[14:] == ["search_tasks", "list_agents", "create_task", "request_approval"]
    assert found[:14] == IDS[:14]


@pytest.mark.parametrize("name", CONTROL_PLANE_OWNED)
def test_what_the_control_plane_owns_is_absent_whatever_is_granted(name: str) -> None:
    for decided in (decide(name, EVERYTHING, OPEN), decide_call(name, {}, EVERYTHING, OPEN)):
        assert decided.reason == "control_plane_owned_operation"
        assert (decided.is_allowed, decided.code) == (False, "operation_absent")
    assert name not in visible(EVERYTHING, OPEN)


@given(st.text())
def test_an_unknown_operation_is_absent(name: str) -> None:
    decided = decide_call(f"x{name}", {}, EVERYTHING, OPEN)
    assert (decided.reason, decided.outcome) == ("unknown_operation", "denied")
    assert decided.code == "operation_absent"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=4,
)
INPUTS = st.dictionaries(
    st.sampled_from(["method", "path", "interactionKind", "body"]), JSON, max_size=4
)


@given(GRANTS, POLICIES, st.sampled_from([*IDS, *CONTROL_PLANE_OWNED, "other"]), INPUTS)
def test_a_call_goes_on_only_for_a_tool_that_is_visible(
    grant: Grant, policy: Policy, name: str, value: JsonObject
) -> None:
    called = decide_call(name, value, grant, policy)
    assert called.outcome in ("allowed", "denied")
    if called.is_allowed:
        assert name in visible(grant, policy)
        assert called.code is None
    elif name not in visible(grant, policy):
        assert called.reason == decide(name, grant, policy).reason


def call(policy: Policy, method: object, path: object) -> Decision:
    """Return the decision about a request that a test sends."""
    value: Any = {"method": method, "path": path}
    return decide_call("generic_api_request", value, EVERYTHING, policy)


@pytest.mark.parametrize(
    ("method", "path", "is_allowed"),
    [
        ("GET", "/tasks", True),
        ("get", "/tasks", True),
        ("POST", "/tasks", False),
        ("GET", "/tasks/1", False),
        ("GET", "/notes/", True),
        ("GET", "/notes/a/b", True),
        ("GET", "/notes", False),
        ("GET", "/notes/../tasks/1", False),
        ("GET", "/notes/./a", False),
        ("GET", "/notes//a", False),
        ("GET", "/notes/%2e%2e/tasks", False),
        ("GET", "/notes/..\\tasks", False),
        ("GET", "/notes/a?x=1", False),
        ("GET", "/notes/a#b", False),
        ("GET", "/notes/a\nb", False),
        ("GET", "/notes/a b", False),
        ("GET", "notes/a", False),
        ("GET", "", False),
        ("GET", None, False),
        (7, "/tasks", False),
    ],
)
def test_a_test_reaches_the_targets_it_lists_and_no_other(
    method: object, path: object, is_allowed: bool
) -> None:
    policy = evolve(
        OPEN, escape_hatch_targets=(Target("GET", "/tasks"), Target("GET", "/notes/*"))
    )
    decided = call(policy, method, path)
    assert decided.is_allowed is is_allowed
    if not is_allowed:
        assert decided.reason == "generic_escape_hatch_target_denied"
        assert decided.code == "policy_denied"


def test_the_generic_request_is_closed_unless_a_policy_opens_it_and_lists_a_target() -> None:
    assert call(Policy(), "GET", "/tasks").reason == "generic_escape_hatch_disabled"
    assert call(OPEN, "GET", "/tasks").reason == "generic_escape_hatch_target_denied"


@pytest.mark.parametrize("kind", ["questions", "other", None, ["confirmation"]])
def test_a_person_is_asked_only_in_the_ways_that_the_policy_allows(kind: Any) -> None:
    value: JsonObject = {"interactionKind": kind}
    only = Policy(interaction_kinds=frozenset({"confirmation"}))
    refused = decide_call("request_human_input", value, EVERYTHING, only)
    assert refused.reason == "interaction_kind_denied_by_policy"
    assert decide_call("request_human_input", value, EVERYTHING, Policy()).is_allowed
    allowed: JsonObject = {"interactionKind": "confirmation"}
    assert decide_call("request_human_input", allowed, EVERYTHING, only).is_allowed


def test_every_reason_is_of_one_kind() -> None:
    assert not set(GRANTING) & set(REFUSING)
    assert len(REFUSING) == 12
