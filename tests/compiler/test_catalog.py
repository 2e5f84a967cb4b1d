"""What an agent is granted of the catalog is held against the catalog and the policy."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, cast

import pytest

from agentctl import DocumentError
from agentctl.catalog.bindings import bind
from agentctl.catalog.descriptor import GROUPS, TASK_MODES
from agentctl.catalog.tools import BY_ID
from agentctl.engine.compiler.pack import PackFile, compile_pack
from agentctl.engine.document import catalog_model
from tests.control.working import scripted

if TYPE_CHECKING:
    from tests.engine.harness import Bench


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


ANSWER = {"type": "object", "properties": {"found": {"type": "string"}}}
ENDS_A_TURN = ["finish_task", "block_task", "request_review", "request_human_input"]


def answering(policy: dict[str, Any], **catalog: Any) -> dict[str, Any]:
    """Return a workflow whose agent has the catalog and must answer with JSON."""
    made = scripted(policy=policy, **catalog)
    made["spec"]["agents"]["writer"]["structuredOutput"] = ANSWER
    made["spec"]["agents"]["writer"]["providerOptions"] = {"finalText": '{"found": "it"}'}
    return made


@pytest.mark.parametrize("mode", ["standard", "planning"])
def test_a_structured_answer_that_a_tool_could_end_without_is_refused(
    bench: Bench, mode: str
) -> None:
    with pytest.raises(DocumentError) as caught:
        bench.engine.load(answering({}, mode=mode))
    (found,) = caught.value.diagnostics
    assert found.code == "unsupported_capability"
    assert found.path == "spec.agents.writer.structuredOutput"
    assert "request_human_input can end the turn" in found.message


@pytest.mark.parametrize(
    ("policy", "catalog"),
    [({}, {"mode": "ask"}), ({"catalog": {"deniedOperations": ENDS_A_TURN}}, {})],
)
def test_a_structured_answer_goes_with_a_catalog_that_cannot_end_the_turn(
    bench: Bench, policy: dict[str, Any], catalog: dict[str, Any]
) -> None:
    outcome = bench.run(answering(policy, **catalog))
    assert outcome.state == "succeeded", outcome.error
    assert outcome.output == {"answer": {"found": "it"}}


def test_the_grant_of_an_agent_that_only_a_subworkflow_uses_is_checked(bench: Bench) -> None:
    made = scripted(tools=["upsert_case"])
    (work,) = made["spec"]["tasks"]
    made["spec"]["subworkflows"] = {"inner": {"version": "1.0.0", "tasks": [work]}}
    made["spec"]["tasks"] = [{"id": "outer", "uses": "workflow:inner"}]
    made["spec"]["outputs"] = {}
    with pytest.raises(DocumentError) as caught:
        bench.engine.load(made)
    (found,) = caught.value.diagnostics
    assert (found.code, found.path) == ("policy_denied", "spec.agents.writer.catalog.tools[0]")


def test_an_agent_of_a_pack_is_refused_with_its_grant() -> None:
    manifest = {
        "apiVersion": "agentctl.dev/pack/v1",
        "name": "org.pack",
        "version": "1.0.0",
        "agents": {
            "writer": {"provider": "p", "model": "m", "instructions": "x", "catalog": {}},
        },
    }
    found = compile_pack(PackFile(raw=json.dumps(manifest).encode(), file="pack.yaml"))
    assert [(one.code, one.path) for one in found.diagnostics] == [("pack_error", "agents")]
