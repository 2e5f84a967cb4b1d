"""The tools of the control plane through the real program."""

from __future__ import annotations

import shlex
from typing import Any, cast

import pytest

from agentctl.catalog.bindings import PROVIDERS, bind
from agentctl.catalog.descriptor import descriptor_data
from agentctl.catalog.tools import BY_ID, CATALOG, CONTROL_PLANE_OWNED
from tests.cli.harness import ROOT, Result, run_cli, run_json
from tests.code.pages import Block, blocks

SHOWN = [one for one in blocks("console") if one.place.startswith("tools.md")]


def explained(*args: str) -> dict[str, Any]:
    """Return the reason for every tool that is explained."""
    result = run_json("tools", "explain", *args).expect(0)
    return {cast("str", one["operationId"]): one for one in result.items("/data/decisions")}


def visible(*args: str) -> list[str]:
    """Return what an agent sees."""
    return [name for name, one in explained(*args).items() if one["outcome"] == "exposed"]


def test_list_shows_the_whole_catalog_and_what_the_control_plane_owns() -> None:
    listed = run_json("tools", "list").expect(0)
    assert listed.at("/kind") == "Tools"
    assert [one["operationId"] for one in listed.items("/data/tools")] == list(BY_ID)
    assert listed.at("/data/controlPlaneOwned") == list(CONTROL_PLANE_OWNED)
    lines = run_cli("tools", "list").expect(0).stdout.splitlines()
    assert len(lines) == 1 + len(CATALOG)
    assert lines[0].split() == ["tool", "group", "effect", "claims"]


def test_list_can_be_narrowed_to_groups() -> None:
    listed = run_json("tools", "list", "--group", "cases", "--group", "routines").expect(0)
    assert [one["optionalGroup"] for one in listed.items("/data/tools")] == [
        "cases", "cases", "routines", "routines",
    ]  # fmt: skip


def test_show_tells_all_that_is_fixed_about_a_tool() -> None:
    shown = run_json("tools", "show", "decide_approval").expect(0)
    assert shown.at("/kind") == "Tool"
    assert shown.at("/data") == descriptor_data(BY_ID["decide_approval"])
    text = run_cli("tools", "show", "decide_approval").expect(0).stdout
    assert "roles   board, approver, security" in text
    assert '"enum": [' in text
    secret = run_cli("tools", "show", "read_secret_value").expect(0).stdout
    assert "redacts  $.value as [SECRET_VALUE] in output, error, authorization_record" in secret


@pytest.mark.parametrize("provider", PROVIDERS)
def test_show_tells_what_a_provider_is_told(provider: Any) -> None:
    shown = run_json("tools", "show", "write_document", "--binding", provider).expect(0)
    assert shown.at("/data/provider") == provider
    assert [shown.at("/data/definition")] == bind(provider, [BY_ID["write_document"]])


def test_explain_shows_an_agent_without_claims_its_own_task_alone() -> None:
    assert visible() == [one.operation_id for one in CATALOG if one.group is None]
    text = run_cli("tools", "explain").expect(0).stdout
    assert text.endswith("\n\n14 of 37 visible\n")


def test_explain_follows_the_whole_grant() -> None:
    claims = ("--claim", "cases:write", "--claim", "governance:approvals:decide")
    assert visible(*claims)[14:] == ["upsert_case"]
    assert visible(*claims, "--role", " Board ")[14:] == ["decide_approval", "upsert_case"]
    board = (*claims, "--role", "board")
    assert visible(*board, "--group", "cases")[14:] == ["upsert_case"]
    also = ("--group", "cases", "--tool", "decide_approval")
    assert visible(*board, *also)[14:] == ["decide_approval", "upsert_case"]
    assert visible(*board, "--deny-tool", "upsert_case")[14:] == ["decide_approval"]
    assert visible(*board, "--deny-claim", "cases:write")[14:] == ["decide_approval"]
    asked = explained(*board, "--mode", "ask")
    assert asked["upsert_case"]["reason"] == "operation_not_available_in_task_mode"


def test_explain_opens_values_of_secrets_only_when_told() -> None:
    claim = ("read_secret_value", "--claim", "secrets:values:read")
    assert explained(*claim)["read_secret_value"]["reason"] == "secret_value_access_disabled"
    assert visible(*claim, "--allow-secret-values") == ["read_secret_value"]


def test_no_option_opens_the_request_that_is_for_tests() -> None:
    args = ("--mode", "skill_test", "--claim", "test:generic_api_request")
    found = explained("generic_api_request", *args, "--tool", "generic_api_request")
    assert found["generic_api_request"]["reason"] == "generic_escape_hatch_disabled"


def test_explain_names_the_claims_that_are_missing() -> None:
    found = explained("list_agents")["list_agents"]
    assert found["missingClaims"] == found["consideredClaims"] == ["discovery:agents:read"]
    assert found["grantedClaims"] == []


def test_what_the_control_plane_owns_is_explained_and_cannot_be_shown() -> None:
    found = explained("checkout_task")["checkout_task"]
    assert found["reason"] == "control_plane_owned_operation"
    refused = run_json("tools", "show", "checkout_task").expect(2)
    assert "the control plane does it itself" in refused.text("/error/message")


@pytest.mark.parametrize("command", ["show", "explain"])
def test_a_wrong_name_is_refused_with_the_nearest(command: str) -> None:
    refused = run_json("tools", command, "finish_tsk").expect(2)
    assert refused.at("/error/message") == "no tool 'finish_tsk'"
    assert refused.at("/error/help") == "did you mean 'finish_task'?"


def test_wrong_names_after_options_are_all_told_at_once() -> None:
    args = ("--claim", "case:write", "--group", "caes", "--tool", "create_tasks")
    refused = run_json("tools", "explain", *args).expect(2)
    assert refused.at("/error/message") == (
        "--claim 'case:write': no tool needs it (did you mean 'cases:write'?); "
        "--group 'caes': no such group (did you mean 'cases'?); "
        "--tool 'create_tasks': no such tool (did you mean 'create_task'?)"
    )
    assert run_json("tools", "explain", "--mode", "asked").expect(2).at("/error/code") == "usage"


@pytest.mark.parametrize("block", SHOWN, ids=lambda one: one.place)
def test_the_page_shows_what_the_program_says(block: Block) -> None:
    said = ""
    for line in block.text.splitlines():
        if line.startswith("$ agentctl "):
            said += f"{line}\n{_output(line).stdout}"
    assert said == block.text


def _output(line: str) -> Result:
    return run_cli(*shlex.split(line)[2:], cwd=ROOT).expect(0)
