"""The conformance matrix: every tool through every binding, with the same answers.

What was observed is the table of `docs/tool-conformance.md`: a row fails when the page says
something else.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, cast

from agentctl.catalog.bindings import BINDING_OF_KIND, Provider, bind, read_arguments
from agentctl.catalog.policy import Target
from agentctl.catalog.tools import BY_ID, CATALOG
from agentctl.engine.programs.catalog_tools import ENDING
from agentctl.testing import EscapeHatch
from tests.cli.harness import ROOT
from tests.control.mutations import DELIVERABLE, QUESTION, administer, requested, written
from tests.control.working import EVERYTHING, answers, scripted
from tests.effects.models.dialects import DIALECTS
from tests.effects.models.server import json_reply, serving
from tests.effects.models.test_catalog import renamed
from tests.effects.models.test_runs import document
from tests.engine.harness import Bench

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from tests.control.working import Call

PAGE = ROOT / "docs" / "tool-conformance.md"
_BEGIN, _END = "<!-- rows -->\n", "<!-- end of rows -->\n"
# A column of the page, and the kind of provider that carries its calls. Codex and OpenAI take one
# definition. An MCP client sends name and arguments, which is what a script holds.
COLUMNS = {
    "OpenAI, Codex": "openai",
    "Azure OpenAI": "azure_openai",
    "OpenAI-compatible": "openai_compatible",
    "Anthropic": "anthropic",
    "Gemini": "google",
    "MCP": "mcp",
    "scripted": "fake",
}
HATCH = "generic_api_request"
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
    ]


def _without_input() -> list[str]:
    return [one.operation_id for one in CATALOG if not one.input_schema["properties"]] + [
        "get_task_history"
    ]


ENDINGS: list[Call] = [
    ("request_review", {"summary": "look"}),
    ("block_task", {"reason": "no data"}),
    ("finish_task", {"summary": "done"}),
]


def test_every_tool_but_that_of_tests_is_called_in_a_run() -> None:
    called = {name for name, _ in [*calls(""), *ENDINGS]}
    assert called == BY_ID.keys() - {HATCH}
    assert {name for name, _ in ENDINGS} == ENDING


def as_asked(value: Any, asked: dict[str, Any]) -> Any:
    """Return an input as a model writes it that was told of this schema."""
    if isinstance(value, dict) and "properties" in asked:
        needed = asked["required"]
        written = {**dict.fromkeys(needed), **value}
        return {name: as_asked(one, asked["properties"][name]) for name, one in written.items()}
    alternatives = [asked, *asked.get("anyOf", [])]
    is_text = any(str(one.get("description")).endswith("JSON text.") for one in alternatives)
    return json.dumps(value) if is_text and value is not None else value


def as_told(binding: Provider, call: Call) -> Call:
    """Return a call as a model makes it that was told of the tool in this way."""
    name, given = call
    (definition,) = cast("list[Any]", bind(binding, [BY_ID[name]]))
    told = definition.get("function", definition)
    keys = ("parameters", "input_schema", "inputSchema")
    return name, as_asked(given, next((told[key] for key in keys if key in told), {}))


def binding_of(kind: str) -> Provider:
    """Return how a column's provider is told of the tools."""
    return "mcp" if kind == "mcp" else BINDING_OF_KIND[kind]


def run(bench: Bench, kind: str, made: list[Call]) -> list[dict[str, Any]]:
    """Let an agent make calls through one provider's protocol; return what it was answered."""
    told = [as_told(binding_of(kind), one) for one in made]
    policy = {"catalog": SECRETS}
    if kind not in DIALECTS:
        return answered(bench, scripted(*told, name="a", policy=policy, **EVERYTHING))
    says = DIALECTS[kind]
    replies = [
        json_reply(renamed(says.calls([f"c{place}"]), name, given))
        for place, (name, given) in enumerate(told)
    ]
    with serving(*replies, json_reply(says.text("done"))) as server:
        flow = document(kind, server, catalog=EVERYTHING)
        flow["spec"]["policy"] |= policy
        found = answered(bench, flow)
        offered = cast("Any", server.asked[0].body)["tools"]
    if kind == "google":
        (declarations,) = offered
        offered = declarations["functionDeclarations"]
    shown = [one for one in CATALOG if one.operation_id != HATCH]
    assert offered == bind(binding_of(kind), shown)
    return found


def answered(bench: Bench, made: dict[str, Any]) -> list[dict[str, Any]]:
    """Run a document; return what its calls were answered."""
    made["spec"]["agents"]["a"] |= {"maxTurns": 64, "maxToolCalls": 64}
    made["spec"]["tasks"][0] |= {"id": "work", "with": {"prompt": "Write the brief."}}
    made["spec"]["outputs"] = {}
    outcome = bench.run(made)
    assert outcome.state == "succeeded", outcome.error
    return answers(bench, outcome.run_id)


def hatched(kind: str) -> dict[str, Any]:
    """Return what the tests' own request is answered, as the binding writes it."""
    headers = {"accept": "text/plain"}
    request = {"method": "GET", "path": "/tasks/1", "headers": headers, "body": {"n": 1}}
    binding = binding_of(kind)
    _, told = as_told(binding, (HATCH, request))
    hatch = EscapeHatch([Target("GET", "/tasks/*")], lambda seen: {"saw": seen})
    answer = hatch.send(cast("Any", read_arguments(binding, BY_ID[HATCH], told)))
    assert answer["value"] == {"saw": request}
    return answer


def observed(folder: Path, kind: str) -> dict[str, list[dict[str, Any]]]:
    """Return the answers to every tool of the catalog through one column, by name."""
    found: dict[str, list[dict[str, Any]]] = {HATCH: [hatched(kind)]}
    for place, ending in enumerate([None, *ENDINGS]):
        bench = Bench(folder / f"{kind}-{place}")
        made = calls(requested(bench)) if ending is None else [ending]
        for (name, _), answer in zip(made, run(bench, kind, made), strict=True):
            found.setdefault(name, []).append(answer)
        bench.close()
    return found


def outcome_of(answers: list[dict[str, Any]]) -> str:
    """Return what came of a tool's calls, in the page's words."""
    said = {"ok" if one["ok"] else f"`{one['error']['reason']}`" for one in answers}
    return ", ".join(sorted(said))


def test_every_tool_has_the_same_answers_through_every_binding(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENAI", "AZURE_OPENAI", "ANTHROPIC", "GEMINI"):
        monkeypatch.setenv(f"{name}_API_KEY", "k-very-secret")
    monkeypatch.setenv("BILLING_TOKEN", "tok-9f3a")
    found = {kind: observed(tmp_path, kind) for kind in COLUMNS.values()}
    for kind, seen in found.items():
        assert seen == found["fake"], kind
    compare(
        "".join(
            f"| `{one}` | {' | '.join(outcome_of(seen[one]) for seen in found.values())} |\n"
            for one in BY_ID
        )
    )


def compare(rows: str) -> None:
    """Hold the table against the page; AGENTCTL_REWRITE=1 puts it there."""
    table = f"| tool | {' | '.join(COLUMNS)} |\n|{' --- |' * (len(COLUMNS) + 1)}\n{rows}"
    page = PAGE.read_text(encoding="utf-8")
    head, _, rest = page.partition(_BEGIN)
    written, _, tail = rest.partition(_END)
    if os.environ.get("AGENTCTL_REWRITE") == "1":
        PAGE.write_text(f"{head}{_BEGIN}{table}{_END}{tail}", encoding="utf-8")
        written = table
    assert written == table, "set AGENTCTL_REWRITE=1 to accept it"
