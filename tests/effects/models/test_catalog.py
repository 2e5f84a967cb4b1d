"""Agents on every provider's protocol use the catalog, and secrets reach the model alone."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from agentctl.catalog.tools import BY_ID
from tests.control.working import EVERYTHING, answers
from tests.effects.models.dialects import DIALECTS
from tests.effects.models.server import json_reply, serving
from tests.effects.models.test_runs import document

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.engine.harness import Bench

EACH = pytest.mark.parametrize("kind", DIALECTS)
VALUE = "tok-9f3a-very-secret"


def renamed(body: Any, name: str, arguments: dict[str, Any]) -> Any:
    """Return a scripted answer whose call is of another tool."""
    if isinstance(body, list):
        return [renamed(one, name, arguments) for one in body]
    if not isinstance(body, dict):
        return body
    made = {key: renamed(value, name, arguments) for key, value in body.items()}
    if body.get("name") == "look":
        made["name"] = name
        for key in ("arguments", "input", "args"):
            if key in body:
                is_text = isinstance(body[key], str)
                made[key] = json.dumps(arguments) if is_text else arguments
    return made


def calling(kind: str, name: str, arguments: dict[str, Any]) -> Any:
    """Return a provider's answer that calls one tool."""
    return json_reply(renamed(DIALECTS[kind].calls(["c1"]), name, arguments))


def texts(value: Any) -> Iterator[str]:
    """Yield every text in a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from (text for one in value.values() for text in texts(one))
    elif isinstance(value, list):
        yield from (text for one in value for text in texts(one))


@EACH
def test_an_agent_of_every_provider_is_told_of_the_catalog_and_calls_it(
    kind: str, bench: Bench
) -> None:
    said = json_reply(DIALECTS[kind].text("done"))
    note = calling(kind, "report_progress", {"body": "half way"})
    with serving(note, said) as server:
        outcome = bench.run(document(kind, server, catalog={}))
    assert outcome.state == "succeeded", outcome.error
    (answer,) = answers(bench, outcome.run_id)
    assert answer["value"]["state"] == "open"
    told = set(texts(server.asked[0].body))
    assert {one for one in BY_ID if BY_ID[one].group is None} <= told
    assert any(answer["value"]["noteId"] in text for text in texts(server.asked[1].body))


@EACH
def test_a_secret_reaches_the_model_and_no_record(
    kind: str, bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BILLING_TOKEN", VALUE)
    said = json_reply(DIALECTS[kind].text(f"I have {VALUE}"))
    read = calling(kind, "read_secret_value", {"name": "billing"})
    with serving(read, said) as server:
        made = document(kind, server, catalog=EVERYTHING)
        made["spec"]["policy"]["catalog"] = {
            "allowSecretValues": True,
            "secrets": {"billing": {"env": "BILLING_TOKEN"}},
        }
        outcome = bench.run(made)
    assert outcome.state == "succeeded", outcome.error
    assert any(VALUE in text for text in texts(server.asked[1].body))
    (answer,) = answers(bench, outcome.run_id)
    assert answer["value"] == {"name": "billing", "value": "[SECRET_VALUE]"}
    kept = b"".join(path.read_bytes() for path in bench.folder.rglob("*") if path.is_file())
    assert VALUE.encode() not in kept
    assert VALUE not in json.dumps(outcome.output)


def test_a_secret_that_the_policy_does_not_name_is_refused(bench: Bench) -> None:
    kind = "anthropic"
    read = calling(kind, "read_secret_value", {"name": "PATH"})
    with serving(read, json_reply(DIALECTS[kind].text("done"))) as server:
        made = document(kind, server, catalog=EVERYTHING)
        made["spec"]["policy"]["catalog"] = {"allowSecretValues": True}
        outcome = bench.run(made)
    (answer,) = answers(bench, outcome.run_id)
    assert answer["error"]["reason"] == "unknown_secret"


@pytest.mark.parametrize("kind", ["openai", "google", "openai_compatible"])
def test_text_that_is_no_json_is_told_to_the_model_with_its_place(kind: str, bench: Bench) -> None:
    spend = calling(kind, "request_approval", {"approvalType": "spend", "payload": "{"})
    with serving(spend, json_reply(DIALECTS[kind].text("done"))) as server:
        outcome = bench.run(document(kind, server, catalog=EVERYTHING))
    assert outcome.state == "succeeded", outcome.error
    (answer,) = answers(bench, outcome.run_id)
    assert answer["error"]["reason"] == "input_schema_invalid"
    assert answer["error"]["problems"][0].startswith("payload: is not JSON text")
