"""A secret that a person types about a run, by mistake, is on no disk and on no terminal."""

from __future__ import annotations

import base64
import json
import os
import sys
from typing import TYPE_CHECKING, Any

import pytest

from tests.cli.doubt import ANSWER, Case, document
from tests.cli.harness import Result, run_json

if TYPE_CHECKING:
    from pathlib import Path

SECRET = "correct-horse-battery-staple"
ENCODED = base64.b64encode(SECRET.encode()).decode()
TOKEN = {"env": "TYPED_TOKEN"}
PRINTED = {"process": {"command": "print-key", "args": []}}
KEY = "the-key-that-a-program-prints"


@pytest.fixture
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Return an environment with a secret of either kind, and set it here too."""
    program = tmp_path / "bin" / "print-key"
    program.parent.mkdir()
    program.write_text(f"#!{sys.executable}\nprint({KEY!r})\n", encoding="utf-8")
    program.chmod(0o755)
    found = {"TYPED_TOKEN": SECRET, "PATH": f"{program.parent}:{os.environ['PATH']}"}
    for name, value in found.items():
        monkeypatch.setenv(name, value)
    return found


def guarded(**spec: Any) -> dict[str, Any]:
    """Return a workflow of one agent, whose provider needs two secrets."""
    made = document("ask", **spec)
    made["spec"]["policy"]["secretProcessAllowlist"] = ["print-key"]
    headers = {"x-token": TOKEN, "x-key": PRINTED}
    made["spec"]["providers"] = {"scripted": {"kind": "fake", "headers": headers}}
    return made


class Typist:
    """Types secrets into commands, and looks for them everywhere."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self.folder = folder
        self.environment = environment
        self.shown = ""

    def type(self, *args: str, code: int = 0) -> Result:
        """Run a command, and keep what it showed."""
        where = ("--db", "state.db")
        done = run_json(*args, *where, cwd=self.folder, env=self.environment).expect(code)
        self.shown += done.stdout + done.stderr
        return done

    def leaks(self) -> list[str]:
        """Return every place that holds a secret."""
        stored = {
            one.name: one.read_bytes() for one in self.folder.rglob("state.db*") if one.is_file()
        }
        assert stored
        places = {**stored, "terminal": self.shown.encode()}
        needles = [one.encode() for one in (SECRET, ENCODED, KEY)]
        return [place for place, data in places.items() if any(one in data for one in needles)]


def _paused(folder: Path, environment: dict[str, str], approval: str = "always") -> Typist:
    """Return a typist at a run that asks whether it may go on."""
    source = guarded(tasks=[{"id": "ask", "uses": "agent:helper", "with": {"prompt": "hi"}}])
    source["spec"]["policy"]["approval"] = approval
    (folder / "workflow.json").write_text(json.dumps(source), encoding="utf-8")
    return Typist(folder, environment)


def test_a_finding_holds_no_secret(tmp_path: Path, environment: dict[str, str]) -> None:
    case = Case(tmp_path, guarded())
    typist = Typist(tmp_path, environment)
    result = case.write("result.json", {**ANSWER, "text": f"said {SECRET}"})
    (tmp_path / "log.txt").write_text(f"GET /?key={ENCODED}\n{KEY}\n", encoding="utf-8")
    done = typist.type(
        *("effects", "reconcile", case.run_id, "ask/1.0", "--status", "applied"),
        *("--reason", f"log in with {SECRET}", "--actor", f"ann {KEY}"),
        *("--evidence-file", "log.txt", "--result-file", result),
    )
    assert done.at("/data/reason") == "log in with [REDACTED]"
    assert done.at("/data/actor") == "ann [REDACTED]"
    typist.type("resume", case.run_id)
    typist.type("inspect", case.run_id)
    assert typist.leaks() == []


def test_a_file_of_findings_leaves_no_secret(tmp_path: Path, environment: dict[str, str]) -> None:
    case = Case(tmp_path, guarded())
    typist = Typist(tmp_path, environment)
    finding = {"effect": "ask/1.0", "reason": f"asked with {SECRET}", "actor": SECRET}
    wrong = {**finding, "status": "applied", "result": {"text": [SECRET]}}
    refused = case.write("wrong.json", [wrong])
    typist.type("reconcile", case.run_id, "--decisions", refused, code=2)
    told = {**finding, "status": "not_applied", "evidence": {"header": [f"Basic {ENCODED}"]}}
    found = case.write("found.json", [told])
    typist.type("reconcile", case.run_id, "--decisions", found, "--plan")
    typist.type("reconcile", case.run_id, "--decisions", found)
    typist.type("inspect", case.run_id)
    assert typist.leaks() == []


@pytest.mark.parametrize("answer", ["approve", "reject"])
def test_an_answer_holds_no_secret(
    tmp_path: Path, environment: dict[str, str], answer: str
) -> None:
    typist = _paused(tmp_path, environment)
    run_id = typist.type("run", "workflow.json", code=3).text("/data/runId")
    asked = typist.type("approvals", "list", run_id).text("/data/0/approvalId")
    said = ("--reason", f"it is {SECRET}", "--actor", f"ann {KEY}")
    done = typist.type("approvals", answer, asked, *said)
    assert done.at("/data/reason") == "it is [REDACTED]"
    typist.type("approvals", "list", run_id, "--all")
    assert typist.leaks() == []


def test_ending_and_deriving_runs_leaves_no_secret(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    typist = _paused(tmp_path, environment)
    run_id = typist.type("run", "workflow.json", code=3).text("/data/runId")
    # What a program prints is not known here: a cancellation waits for none.
    typist.type("cancel", run_id, "--reason", f"wrong {SECRET}", "--actor", ENCODED)
    why = ("--reason", f"again with {SECRET} and {KEY}")
    derived = [
        ("retry", "workflow.json", run_id, "--from", "ask"),
        ("repair", "workflow.json", run_id, "--from", "ask"),
        ("fork", run_id),
    ]
    for command in derived:
        made = typist.type(*command, *why, code=3)
        typist.type("inspect", made.text("/data/runId"))
    assert typist.leaks() == []
