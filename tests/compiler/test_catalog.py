"""What an agent is granted of the catalog is held against the catalog and the policy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import pytest

from tests.control.working import scripted
from tests.engine.harness import Bench

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

from agentctl import DocumentError
from agentctl.catalog.bindings import bind
from agentctl.catalog.descriptor import GROUPS, TASK_MODES
from agentctl.catalog.tools import BY_ID
from agentctl.engine.document import catalog_model


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    """An engine on a fresh file."""
    made = Bench(tmp_path)
    yield made
    made.close()


@pytest.mark.parametrize(
    ("catalog", "policy", "code", "path", "words"),
    [
        ({"tools": ["upsert_cas"]}, {}, "missing_reference", "tools[0]", "upsert_case"),
        ({"tools": ["checkout_task"]}, {}, "policy_denied", "tools[0]", "does it itself"),
        ({"tools": ["generic_api_request"]}, {}, "policy_denied", "tools[0]", "tests alone"),
        ({"tools": ["upsert_case"]}, {}, "policy_denied", "tools[0]", "cases:write"),
        ({"claims": ["cases:wite"]}, {}, "missing_reference", "claims[0]", "cases:write"),
        ({"groups": ["cases"]}, {}, "policy_denied", "groups[0]", "cases:read, cases:write"),
        (
            {"tools": ["upsert_case"], "claims": ["cases:write"], "mode": "planning"},
            {},
            "policy_denied",
            "tools[0]",
            "operation_not_available_in_task_mode",
        ),
        (
            {"tools": ["upsert_case"], "claims": ["cases:write"]},
            {"catalog": {"deniedOperations": ["upsert_case"]}},
            "policy_denied",
            "tools[0]",
            "operation_denied_by_policy",
        ),
        (
            {"tools": ["read_secret_value"], "claims": ["secrets:values:read"]},
            {},
            "policy_denied",
            "tools[0]",
            "secret_value_access_disabled",
        ),
    ],
)
def test_a_grant_that_shows_nothing_is_refused_with_the_reason(
    bench: Bench,
    catalog: dict[str, Any],
    policy: dict[str, Any],
    code: str,
    path: str,
    words: str,
) -> None:
    with pytest.raises(DocumentError) as caught:
        bench.engine.load(scripted(policy=policy, **catalog))
    (found,) = caught.value.diagnostics
    assert (found.code, found.path) == (code, f"spec.agents.writer.catalog.{path}")
    assert words in f"{found.message} {found.help}"


def test_a_policy_names_only_what_the_catalog_has(bench: Bench) -> None:
    policy = {"catalog": {"deniedOperations": ["upsert"], "deniedClaims": ["cases"]}}
    with pytest.raises(DocumentError) as caught:
        bench.engine.load(scripted(policy=policy))
    assert {one.path for one in caught.value.diagnostics} == {
        "spec.policy.catalog.deniedOperations[0]",
        "spec.policy.catalog.deniedClaims[0]",
    }


def test_the_plan_lists_what_an_agent_sees(bench: Bench) -> None:
    document = scripted(groups=["cases"], claims=["cases:read"])
    definitions = bench.engine.load(document).plan.definitions
    agents = cast("dict[str, Any]", definitions["agents"])
    seen = agents["writer"]["catalog"]["visible"]
    assert len(seen) == 15
    assert seen[-1] == "list_cases"
    told = cast("dict[str, Any]", definitions["catalogTools"])["fake"]
    assert list(told) == seen
    assert [*told.values()] == bind("fake", [BY_ID[name] for name in seen])


def test_a_document_names_the_modes_and_groups_of_the_catalog() -> None:
    assert catalog_model.TaskModeName.__args__ == TASK_MODES  # type: ignore[attr-defined]
    granted = catalog_model.GroupName.__args__  # type: ignore[attr-defined]
    assert {*granted, "test_escape_hatch"} == set(GROUPS)
