"""`auth check`, `providers inspect` and `doctor` say where secrets are, and never a value."""

from __future__ import annotations

import json
import os
import shlex
import sys
from typing import TYPE_CHECKING, cast

import pytest

from tests.cli.harness import ROOT, run_cli, run_json

if TYPE_CHECKING:
    from pathlib import Path

    from agentctl.jsonvalue import JsonObject

VALUE = "the-value-that-nobody-sees"


def _workflow(folder: Path, **spec: object) -> Path:
    """Write a workflow with secrets of every kind, and one file of them."""
    (folder / "keys").mkdir()
    (folder / "keys" / "token").write_text(VALUE, encoding="utf-8")
    body = {
        "apiVersion": "agentctl.dev/v1",
        "kind": "Workflow",
        "metadata": {"name": "secrets"},
        "spec": {
            "policy": {
                "environmentAllowlist": ["TOKEN", "PRINTED"],
                "processAllowlist": ["true"],
                "secretFileRoots": ["keys"],
                "secretProcessAllowlist": ["sh"],
            },
            "providers": {
                "cloud": {"kind": "openai", "endpoint": "https://models.example.com"},
                "spare": {"kind": "anthropic"},
            },
            "agents": {"writer": {"provider": "cloud", "model": "m-1", "instructions": "answer"}},
            "actions": {
                "deploy": {
                    "kind": "builtin.shell.exec",
                    "command": "true",
                    "env": {
                        "TOKEN": {"file": "keys/token"},
                        "PRINTED": {
                            "process": {
                                "command": "sh",
                                "args": ["-c", f"echo {VALUE}; echo x >>printed"],
                            }
                        },
                    },
                }
            },
            "tasks": [
                {"id": "ask", "uses": "agent:writer", "with": {"prompt": "go"}},
                {"id": "deploy", "uses": "action:deploy", "with": {}},
            ],
            **spec,
        },
    }
    path = folder / "workflow.json"
    path.write_text(json.dumps(body), encoding="utf-8")
    return path


def test_auth_check_looks_every_secret_up_and_tells_no_value(tmp_path: Path) -> None:
    file = _workflow(tmp_path)
    shown = run_json("auth", "check", str(file), env={"OPENAI_API_KEY": VALUE}).expect(0)
    assert shown.at("/kind") == "AuthCheck"
    assert shown.at("/data/ready") is True
    assert shown.items("/data/secrets") == [
        {
            "name": "provider:cloud:credential",
            "source": {"kind": "env", "name": "OPENAI_API_KEY"},
            "needed": True,
            "available": True,
            "reason": None,
        },
        {
            "name": "provider:spare:credential",
            "source": {"kind": "env", "name": "ANTHROPIC_API_KEY"},
            "needed": False,
            "available": False,
            "reason": "the environment variable ANTHROPIC_API_KEY is not set",
        },
        {
            "name": "process:deploy:env:TOKEN",
            "source": {"kind": "file", "name": "keys/token"},
            "needed": True,
            "available": True,
            "reason": None,
        },
        {
            "name": "process:deploy:env:PRINTED",
            "source": {"kind": "process", "name": "sh"},
            "needed": True,
            "available": True,
            "reason": None,
        },
    ]
    human = run_cli("auth", "check", str(file), env={"OPENAI_API_KEY": VALUE}).expect(0)
    for one in (shown, human):
        assert VALUE not in one.stdout + one.stderr
    assert "credential of spare" in human.stdout
    words = [line.split("  ")[0] for line in human.stdout.splitlines()]
    assert words[1:] == [
        "credential of cloud",
        "credential of spare",
        "variable TOKEN of action deploy",
        "variable PRINTED of action deploy",
    ]


@pytest.mark.parametrize("missing", ["credential", "file", "program"])
def test_auth_check_leaves_with_6_when_a_needed_secret_is_missing(
    tmp_path: Path, missing: str
) -> None:
    file = _workflow(tmp_path)
    environment = {"OPENAI_API_KEY": VALUE}
    if missing == "credential":
        environment = {"OPENAI_API_KEY": ""}
        reason = "the environment variable OPENAI_API_KEY is empty"
    elif missing == "file":
        (tmp_path / "keys" / "token").rename(tmp_path / "keys" / "tokens")
        reason = "the secret file 'keys/token' does not exist"
    else:
        body = file.read_text(encoding="utf-8").replace("echo x >>printed", "exit 7")
        file.write_text(body, encoding="utf-8")
        reason = "the secret program 'sh' ended with exit code 7"
    shown = run_json("auth", "check", str(file), env=environment).expect(6)
    assert shown.at("/data/ready") is False
    told = [one for one in shown.items("/data/secrets") if one["needed"] and not one["available"]]
    assert [one["reason"] for one in told] == [reason]
    human = run_cli("auth", "check", str(file), env=environment).expect(6)
    assert reason in human.stdout
    assert VALUE not in shown.stdout + shown.stderr + human.stdout + human.stderr


def test_doctor_looks_for_secrets_in_the_workspace_and_runs_no_program(tmp_path: Path) -> None:
    file = _workflow(tmp_path)
    shown = run_json("doctor", str(file), env={"OPENAI_API_KEY": VALUE}).expect(0)
    checks = {cast("str", one["name"]): one["status"] for one in shown.items("/data/checks")}
    assert checks == {
        "provider:cloud:credential": "present",
        "process:deploy:command": "present",
        "process:deploy:env:TOKEN": "present",
        "process:deploy:env:PRINTED": "present",
    }
    assert not (tmp_path / "printed").exists()
    (tmp_path / "keys" / "token").unlink()
    shown = run_json("doctor", str(file)).expect(6)
    details = {cast("str", one["name"]): one["detail"] for one in shown.items("/data/checks")}
    assert details["process:deploy:env:TOKEN"] == (
        "variable TOKEN of action deploy: the secret file 'keys/token' does not exist"
    )


def test_providers_inspect_shows_who_asks_whom_and_needs_no_credential(tmp_path: Path) -> None:
    file = _workflow(tmp_path)
    shown = run_json("providers", "inspect", str(file)).expect(0)
    assert shown.at("/kind") == "Providers"
    cloud, spare = shown.items("/data/providers")
    assert (cloud["name"], cloud["kind"], cloud["used"]) == ("cloud", "openai", True)
    assert cloud["endpoint"] == "https://models.example.com"
    assert cloud["agents"] == [{"name": "writer", "model": "m-1", "requests": []}]
    assert cloud["secrets"] == [
        {
            "purpose": "credential",
            "source": {"kind": "env", "name": "OPENAI_API_KEY"},
            "present": False,
            "reason": "the environment variable OPENAI_API_KEY is not set",
        }
    ]
    assert spare["used"] is False
    human = run_cli("providers", "inspect", str(file), env={"OPENAI_API_KEY": VALUE}).expect(0)
    assert VALUE not in human.stdout + human.stderr
    assert "in place" in human.stdout


def test_a_workflow_without_secrets_is_ready(tmp_path: Path) -> None:
    nothing: JsonObject = {}
    file = _workflow(
        tmp_path,
        providers=nothing,
        agents=nothing,
        actions={"one": {"kind": "builtin.assign"}},
        tasks=[{"id": "one", "uses": "action:one", "with": {"a": 1}}],
    )
    assert run_cli("auth", "check", str(file)).expect(0).stdout == "no secrets\n"
    assert run_cli("providers", "inspect", str(file)).expect(0).stdout == "no providers\n"
    assert run_json("auth", "check", str(file)).expect(0).at("/data/ready") is True


def _program(folder: Path) -> dict[str, str]:
    """Put the program on a search path, and return that as an environment."""
    place = folder / "bin" / "agentctl"
    place.parent.mkdir()
    run = (
        f'PYTHONPATH={shlex.quote(str(ROOT))} exec {shlex.quote(sys.executable)} -m agentctl "$@"'
    )
    place.write_text(f"#!/bin/sh\n{run}\n", encoding="utf-8")
    place.chmod(0o755)
    return {"PATH": f"{place.parent}:{os.environ['PATH']}"}


def _with_two_secrets(folder: Path) -> Path:
    spec = {
        "policy": {
            "approval": "never",
            "processAllowlist": ["agentctl"],
            "environmentAllowlist": ["FILE_SECRET", "PROCESS_SECRET"],
            "secretFileRoots": ["secrets"],
            "secretProcessAllowlist": ["agentctl"],
        },
        "actions": {
            "show": {
                "kind": "builtin.shell.exec",
                "command": "agentctl",
                "args": ["version"],
                "env": {
                    "FILE_SECRET": {"file": "secrets/token"},
                    "PROCESS_SECRET": {
                        "process": {
                            "command": "agentctl",
                            "args": ["version"],
                            "timeoutSeconds": 30,
                            "outputLimitBytes": 128,
                        }
                    },
                },
            }
        },
        "tasks": [{"id": "show", "uses": "action:show", "with": {}}],
    }
    (folder / "secrets").mkdir()
    (folder / "secrets" / "token").write_text(f"{VALUE}\n", encoding="utf-8")
    body = {
        "apiVersion": "agentctl.dev/v1",
        "kind": "Workflow",
        "metadata": {"name": "secrets"},
        "spec": spec,
    }
    file = folder / "workflow.json"
    file.write_text(json.dumps(body), encoding="utf-8")
    return file


def test_a32_secrets_of_files_and_programs_reach_a_process_and_no_record(tmp_path: Path) -> None:
    file, environment = _with_two_secrets(tmp_path), _program(tmp_path)
    printed = run_cli("version").expect(0).stdout.strip()
    where = ("--workspace", str(tmp_path), "--db", str(tmp_path / "one" / "run.db"))
    ran = run_json("run", str(file), *where, env=environment).expect(0)
    shown = run_json("inspect", ran.text("/data/runId"), *where[2:]).expect(0)
    assert "[REDACTED]" in shown.stdout
    stored = b"".join(one.read_bytes() for one in (tmp_path / "one").rglob("*") if one.is_file())
    for secret in (VALUE, printed):
        assert secret not in ran.stdout + ran.stderr + shown.stdout
        assert secret.encode() not in stored
    (tmp_path / "secrets" / "token").unlink()
    where = ("--workspace", str(tmp_path), "--db", str(tmp_path / "two" / "run.db"))
    failed = run_json("run", str(file), *where, env=environment).expect(4)
    assert "secret file" in failed.text("/error/message")
    assert VALUE not in failed.stdout + failed.stderr
