"""Acceptance journeys of agents, and the examples that ask a provider, through the real program."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from tests.cli.harness import EXAMPLES, Result, run_json
from tests.cli.test_artifact_journeys import FIXTURE, REPORT, VERDICT, mock_tool
from tests.cli.test_journeys import V1, Desk, fake_agent, workflow
from tests.effects.models.dialects import DIALECTS
from tests.effects.models.server import Reply, ScriptedServer, json_reply, serving, stream_reply
from tests.effects.models.test_runs import ECHO, LIVE

if TYPE_CHECKING:
    from pathlib import Path

    from agentctl.jsonvalue import JsonObject

COMPOSITE = "framework-completeness/live-composite.yaml"
ENVIRONMENT = {
    f"{name}_API_KEY": "k-1" for name in ("OPENAI", "AZURE_OPENAI", "ANTHROPIC", "GEMINI")
}
# What the composite example's agents must say, in compiled order; the last one streams.
SAID: list[JsonObject] = [
    {"marker": "left"},
    {"marker": "right"},
    {"item": "alpha"},
    {"item": "beta"},
    {"route": "execute"},
    {"iteration": 0},
    {"iteration": 1},
    {"status": "ready"},
    {"evidence": "LIVE_TEAM_READY"},
    {"decision": "approved"},
]


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """Return a fresh folder."""
    return Desk(tmp_path)


@pytest.mark.parametrize("option", ["stream", "programmaticToolCalling"])
def test_a04_an_option_that_the_provider_lacks_is_refused(desk: Desk, option: str) -> None:
    file = desk.file("w.json", workflow(fake_agent(providerOptions={option: True})))
    (problem,) = run_json("check", str(file)).expect(2).items("/diagnostics")
    assert problem["path"] == f"spec.agents.writer.providerOptions.{option}"


def test_a04_tools_without_storage_need_no_credential_to_be_checked(desk: Desk) -> None:
    closed: dict[str, Any] = {
        "type": "object",
        "properties": {},
        "required": [],
        "additionalProperties": False,
    }
    spec: dict[str, Any] = fake_agent(
        model="m-1", tools=["look"], providerOptions={"store": False}
    )
    spec |= {
        "providers": {"fake": {"kind": "openai"}},
        "tools": {"look": {**ECHO, "inputSchema": closed, "outputSchema": closed}},
        "policy": {"networkAllowlist": ["api.openai.com"]},
    }
    run_json("check", str(desk.file("w.json", workflow(spec)))).expect(0)


def test_a44_a_private_destination_is_denied_before_there_is_a_database(desk: Desk) -> None:
    call: JsonObject = {"server": "local", "tool": "echo", "arguments": {}}
    spec: JsonObject = {
        "policy": {"networkAllowlist": ["127.0.0.1"], "approval": "never"},
        "mcpServers": {"local": {"url": "http://127.0.0.1:9/mcp"}},
        "actions": {"call": {"kind": "mcp.call"}},
        "tasks": [{"id": "call", "uses": "action:call", "with": call}],
    }
    denied = desk.run(desk.file("w.json", workflow(spec))).expect(3)
    assert "network address is not authorized" in denied.text("/error/message")
    assert not desk.db.exists()


def test_c3_a_typed_handoff_of_roles_is_run_retried_and_replayed(desk: Desk) -> None:
    file = V1 / "structured-handoff.yaml"
    run_id = desk.run(file, workspace=V1).expect(0).text("/data/runId")
    seen = desk.inspect(run_id)
    assert len(seen.items("/data/toolCalls")) == 1
    assert [
        (one["taskId"], one["state"], one["disposition"]) for one in seen.items("/data/tasks")
    ] == [(name, "succeeded", "executed") for name in ("collect", "handoff", "review", "verify")]
    more = ("--from", "review", "--restart-successful", "--workspace", str(V1))
    again = run_json("retry", str(file), run_id, *more, "--db", str(desk.db)).expect(0)
    assert again.at("/data/reusedTasks") == ["collect", "handoff"]
    assert again.at("/data/executedTasks") == ["review", "verify"]
    copy = desk.on("replay", again.text("/data/runId")).expect(0).text("/data/runId")
    copied = desk.inspect(copy)
    for part in ("effects", "toolCalls", "providerSessions"):
        assert copied.at(f"/data/{part}") == []


def test_k_mock_a_tool_reads_and_a_replay_is_offline(desk: Desk) -> None:
    shutil.copytree(FIXTURE.parent, desk.folder / "fixture")
    (desk.folder / "artifacts").mkdir()
    body: Any = mock_tool()
    body["spec"]["inputs"] = {"reportPath": REPORT}
    body["spec"]["tasks"][1]["with"]["path"] = "${{ inputs.reportPath }}"
    report = "artifacts/report.txt"
    ran = desk.run(desk.file("mock.json", body), "--input", f"reportPath={report}").expect(0)
    assert ran.at("/data/output/verdict") == VERDICT
    assert (desk.folder / report).read_text(encoding="utf-8") == VERDICT
    seen = desk.inspect(ran.text("/data/runId"))
    assert len(seen.items("/data/toolCalls")) == 1
    assert seen.items("/data/traces")
    assert len(seen.items("/data/effects")) >= 3
    copy = desk.on("replay", ran.text("/data/runId")).expect(0)
    assert copy.text("/data/runId") != ran.text("/data/runId")
    assert copy.at("/data/output") == ran.at("/data/output")
    copied = desk.inspect(copy.text("/data/runId"))
    assert (copied.at("/data/effects"), copied.at("/data/toolCalls")) == ([], [])


def _on_the_loopback(desk: Desk, name: str, server: ScriptedServer) -> Path:
    """Return an example that asks a server here, one agent after the other."""
    body: dict[str, Any] = yaml.safe_load((EXAMPLES / name).read_text(encoding="utf-8"))
    spec = body["spec"]
    for provider in spec["providers"].values():
        provider["endpoint"] = server.url
    spec["policy"] |= {"networkAllowlist": ["127.0.0.1"], "network": {"allowPrivate": True}}
    if "runtime" in spec:
        spec["runtime"]["maxConcurrency"] = 1
    return desk.file("example.json", body)


def _run(desk: Desk, file: Path) -> Result:
    where = ("--workspace", str(desk.folder), "--db", str(desk.db))
    return run_json("run", str(file), *where, env=ENVIRONMENT).expect(0)


@pytest.mark.parametrize("name", [*LIVE, COMPOSITE])
def test_an_example_of_a_provider_is_checked_and_planned_without_a_credential(name: str) -> None:
    file = str(EXAMPLES / name)
    assert run_json("check", file).expect(0).at("/data/valid") is True
    assert run_json("plan", file).expect(0).items("/data/order")


@pytest.mark.parametrize("name", LIVE)
def test_an_example_of_a_provider_runs_at_another_endpoint(desk: Desk, name: str) -> None:
    body = yaml.safe_load((EXAMPLES / name).read_text(encoding="utf-8"))
    (provider,) = body["spec"]["providers"].values()
    with serving(json_reply(DIALECTS[provider["kind"]].text("Hello."))) as server:
        assert _run(desk, _on_the_loopback(desk, name, server)).at("/data/state") == "succeeded"
    assert server.asked


def test_the_composite_example_runs_at_another_endpoint(desk: Desk) -> None:
    says = DIALECTS["openai"]
    replies: list[Reply] = [json_reply(says.text(json.dumps(one))) for one in SAID]
    replies.append(stream_reply(*says.stream(says.text("LIVE_STREAM_VERIFIED"))))
    with serving(*replies) as server:
        done = _run(desk, _on_the_loopback(desk, COMPOSITE, server))
    assert len(server.asked) == len(replies)
    assert done.at("/data/output/decision") == "approved"
    assert done.at("/data/output/iterations") == 2
    assert done.at("/data/output/stream") == "LIVE_STREAM_VERIFIED"
