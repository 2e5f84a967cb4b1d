"""`agentctl doctor`: what is there, what is missing, what stays unknown; nothing is started."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, cast

from tests.cli.harness import Result, run_cli, run_json

if TYPE_CHECKING:
    from pathlib import Path

    from agentctl.jsonvalue import JsonObject


def _workflow(folder: Path, action: JsonObject, **policy: object) -> Path:
    kind: JsonObject = {"kind": "builtin.shell.exec", **action}
    command = str(kind["command"]).rpartition("/")[2]
    spec = {
        "policy": {"processAllowlist": [command], **policy},
        "actions": {"host": kind},
        "tasks": [{"id": "one", "uses": "action:host", "with": {}}],
    }
    body = {
        "apiVersion": "agentctl.dev/v1",
        "kind": "Workflow",
        "metadata": {"name": "w"},
        "spec": spec,
    }
    (folder / "workflow.json").write_text(json.dumps(body), encoding="utf-8")
    return folder


def _doctor(folder: Path) -> Result:
    shown = run_json("doctor", "workflow.json", cwd=folder)
    assert shown.at("/kind") == "DoctorResult"
    assert not (folder / ".agentctl").exists()
    return shown


def _statuses(shown: Result) -> dict[str, str]:
    return {
        cast("str", one["name"]): cast("str", one["status"]) for one in shown.items("/data/checks")
    }


def test_a_missing_executable_is_named(tmp_path: Path) -> None:
    folder = _workflow(tmp_path, {"command": "/no/such/program"})
    shown = _doctor(folder).expect(6)
    assert shown.at("/data/ready") is False
    assert _statuses(shown) == {"process:host:command": "missing_or_not_executable"}
    human = run_cli("doctor", "workflow.json", cwd=folder).expect(6).stdout
    assert "process:host:command: missing_or_not_executable" in human
    assert "execution readiness unverified" in human


def test_what_a_helper_needs_itself_is_not_examined(tmp_path: Path) -> None:
    action: JsonObject = {"command": "missing-host-command", "args": ["helper.py"]}
    shown = _doctor(_workflow(tmp_path, action)).expect(6)
    assert shown.at("/data/unverified/0/status") == "unchecked"
    assert "helper-internal" in shown.text("/data/unverified/0/detail")
    assert "does not establish workflow execution readiness" in shown.text("/data/scope")


def test_a_script_is_looked_for_in_the_working_directory(tmp_path: Path) -> None:
    program = tmp_path / "python3"
    program.write_text("#!/bin/sh\n", encoding="utf-8")
    program.chmod(0o755)
    (tmp_path / "helpers").mkdir()
    action: JsonObject = {
        "kind": "extension.process",
        "command": str(program),
        "args": ["analyze.py"],
        "cwd": "helpers",
        "protocolVersion": "agentctl.dev/process-extension/v1",
        "inputSchema": {"type": "object"},
        "outputSchema": {"type": "object"},
        "idempotency": "keyed",
        "capabilities": ["analyze"],
    }
    folder = _workflow(tmp_path, action)
    assert _statuses(_doctor(folder).expect(6)) == {
        "process:host:command": "present",
        "process:host:script": "missing_or_not_file",
    }
    (tmp_path / "helpers" / "analyze.py").write_text("PRIVATE CONTENT", encoding="utf-8")
    shown = _doctor(folder).expect(0)
    assert _statuses(shown)["process:host:script"] == "present"
    assert shown.at("/data/unverified/0/status") == "unchecked"
    assert "PRIVATE CONTENT" not in shown.stdout


def test_modules_are_not_imported_to_be_looked_at(tmp_path: Path) -> None:
    action: JsonObject = {"command": "python3", "args": ["-m", "missing.module"]}
    shown = _doctor(_workflow(tmp_path, action)).expect(0)
    assert len(shown.items("/data/checks")) == 1
    assert "modules" in shown.text("/data/unverified/0/detail")


def test_a_missing_working_directory_is_named(tmp_path: Path) -> None:
    shown = _doctor(_workflow(tmp_path, {"command": "sh", "cwd": "missing"})).expect(6)
    assert _statuses(shown)["process:host:cwd"] == "missing_or_denied"


def test_a_missing_variable_is_named_and_a_present_one_never_shown(tmp_path: Path) -> None:
    action: JsonObject = {"command": "sh", "env": {"TOKEN": {"env": "TOKEN"}}}
    folder = _workflow(tmp_path, action, environmentAllowlist=["TOKEN"])
    assert _statuses(_doctor(folder).expect(6))["process:host:env:TOKEN"] == "missing"
    shown = run_json("doctor", "workflow.json", cwd=folder, env={"TOKEN": "PRIVATE"}).expect(0)
    assert "PRIVATE" not in shown.stdout


def test_a_missing_credential_is_named(tmp_path: Path) -> None:
    spec = {
        "providers": {"openai": {"kind": "openai", "credential": {"env": "OPENAI_API_KEY"}}},
        "policy": {
            "environmentAllowlist": ["OPENAI_API_KEY"],
            "networkAllowlist": ["api.openai.com"],
        },
        "agents": {"a": {"provider": "openai", "model": "m", "instructions": "x"}},
        "tasks": [{"id": "one", "uses": "agent:a", "with": {"prompt": "x"}}],
    }
    body = {
        "apiVersion": "agentctl.dev/v1",
        "kind": "Workflow",
        "metadata": {"name": "w"},
        "spec": spec,
    }
    (tmp_path / "workflow.json").write_text(json.dumps(body), encoding="utf-8")
    shown = _doctor(tmp_path).expect(6)
    assert shown.at("/data/ready") is False
    assert shown.at("/data/checks/0/status") == "missing"
