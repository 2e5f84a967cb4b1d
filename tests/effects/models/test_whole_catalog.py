"""The whole catalog through every provider's protocol: the same calls, the same answers."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from agentctl.catalog.tools import CATALOG
from tests.control.mutations import DELIVERABLE, QUESTION, administer, requested, written
from tests.control.working import EVERYTHING, answers, scripted
from tests.effects.models.dialects import DIALECTS
from tests.effects.models.server import json_reply, serving
from tests.effects.models.test_catalog import renamed
from tests.effects.models.test_runs import document
from tests.engine.harness import Bench

if TYPE_CHECKING:
    from pathlib import Path

    from tests.control.working import Call

SECRETS = {"allowSecretValues": True, "secrets": {"billing": {"env": "BILLING_TOKEN"}}}


def calls(approval: str) -> list[Call]:
    """Return one call of every tool that a workflow can grant, in an order that all work in."""
    spend: dict[str, Any] = {"approvalType": "spend", "payload": {"amount": 20}}
    decide = {"approvalId": approval, "decision": "approved", "note": "fine"}
    return [
        *((one, {}) for one in _without_input()),
        ("report_progress", {"body": "half way"}),
        ("answer_status_question", {"body": "well"}),
        written("one", None),
        ("read_document", {"key": "brief"}),
        ("list_document_revisions", {"key": "brief"}),
        ("register_deliverable", DELIVERABLE),
        ("inspect_operation_result", {"operationResultId": "none"}),
        ("search_tasks", {"query": "work"}),
        ("create_task", {"title": "Check the numbers"}),
        ("set_dependencies", {"blockedByTaskIds": []}),
        ("request_approval", spend),
        ("comment_on_approval", {"approvalId": approval, "body": "why?"}),
        ("decide_approval", decide),
        ("upsert_case", {"key": "k", "body": "1"}),
        ("control_workspace_service", {"serviceId": "web", "action": "start"}),
        ("read_secret_value", {"name": "billing"}),
        administer("register_goal", name="grow"),
        ("request_human_input", QUESTION),
        # In review by now, so these are refused, and the agent goes on.
        ("request_review", {"summary": "look"}),
        ("block_task", {"reason": "no data"}),
        ("finish_task", {"summary": "done"}),
    ]


def _without_input() -> list[str]:
    return [one.operation_id for one in CATALOG if not one.input_schema["properties"]] + [
        "get_task_history"
    ]


def test_every_tool_but_that_of_tests_is_called() -> None:
    called = {name for name, _ in calls("")}
    assert called == {one.operation_id for one in CATALOG} - {"generic_api_request"}


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """What the scripted provider's agent is answered."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BILLING_TOKEN", "tok-9f3a")
        bench = Bench(tmp_path_factory.mktemp("scripted"))
        policy = {"catalog": SECRETS}
        made = scripted(*calls(requested(bench)), name="a", policy=policy, **EVERYTHING)
        made["spec"]["agents"]["a"] |= {"maxTurns": 64, "maxToolCalls": 64}
        found = told(bench, made)
        bench.close()
    return found


def told(bench: Bench, made: dict[str, Any]) -> list[dict[str, Any]]:
    """Run a document; return what its calls were answered."""
    made["spec"]["tasks"][0] |= {"id": "work", "with": {"prompt": "Write the brief."}}
    made["spec"]["outputs"] = {}
    outcome = bench.run(made)
    assert outcome.state == "succeeded", outcome.error
    return answers(bench, outcome.run_id)


@pytest.mark.parametrize("kind", DIALECTS)
def test_every_protocol_carries_every_tool_with_the_same_answers(
    kind: str, tmp_path: Path, expected: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENAI", "AZURE_OPENAI", "ANTHROPIC", "GEMINI"):
        monkeypatch.setenv(f"{name}_API_KEY", "k-very-secret")
    monkeypatch.setenv("BILLING_TOKEN", "tok-9f3a")
    bench, says = Bench(tmp_path), DIALECTS[kind]
    replies = [
        json_reply(renamed(says.calls([f"c{place}"]), name, given))
        for place, (name, given) in enumerate(calls(requested(bench)))
    ]
    with serving(*replies, json_reply(says.text("done"))) as server:
        made = document(kind, server, catalog=EVERYTHING, maxTurns=64, maxToolCalls=64)
        made["spec"]["policy"]["catalog"] = SECRETS
        found = told(bench, made)
    bench.close()
    assert json.loads(json.dumps(found)) == expected
