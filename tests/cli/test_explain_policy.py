"""`agentctl explain policy`: what each task may do, and the line that decides."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.cli.harness import run_cli, run_json

if TYPE_CHECKING:
    from pathlib import Path

WORKFLOW = """\
apiVersion: agentctl.dev/v1
kind: Workflow
metadata: { name: guarded }
spec:
  policy:
    writableRoots: [out]
    approval: mutations
    approvalExpiresSeconds: 60
    nonInteractive: deny_approval
    toolsDeny:
      - filesystem.read
  actions:
    save: { kind: builtin.write }
    look: { kind: builtin.read }
    set: { kind: builtin.assign }
  tasks:
    - { id: save, uses: "action:save", with: { path: out/a.txt, content: x } }
    - { id: look, uses: "action:look", with: { path: a.txt } }
    - { id: set, uses: "action:set" }
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A workflow whose policy asks, denies and allows."""
    path = tmp_path / "guarded.yaml"
    path.write_text(WORKFLOW, encoding="utf-8")
    return path


def test_every_request_is_told_with_the_line_that_decides(file: Path) -> None:
    shown = run_json("explain", "policy", str(file)).expect(0)
    assert shown.at("/kind") == "PolicyExplanation"
    save, look, quiet = shown.items("/data/tasks")
    assert quiet == {"task": "set", "requests": []}
    assert save["requests"] == [
        {
            "operation": "builtin.write",
            "tool": None,
            "capability": "filesystem.write",
            "effectClass": "workspace_mutate",
            "risk": "medium",
            "verdict": "asks",
            "reason": "policy.approval is mutations",
            "rule": "spec.policy.approval",
            "file": str(file),
            "line": 7,
            "column": 15,
        }
    ]
    assert shown.at("/data/tasks/1/requests/0/verdict") == "denied"
    assert shown.at("/data/tasks/1/requests/0/rule") == "spec.policy.toolsDeny[0]"
    assert shown.at("/data/tasks/1/requests/0/line") == 11
    assert look["task"] == "look"
    assert [one.name for one in file.parent.iterdir()] == ["guarded.yaml"]


def test_a_person_reads_a_table(file: Path) -> None:
    told = run_cli("explain", "policy", str(file)).expect(0).stdout
    assert "asks a person" in told
    assert f"policy.toolsDeny denies filesystem.read ({file}:11:9)" in told
    assert "expires after 60 s" in told
    assert "the task fails" in told
    assert "1 task asks for nothing outside" in told


def test_a_wrong_word_before_the_file_is_named(file: Path) -> None:
    refused = run_json("explain", "polcy", str(file)).expect(2)
    assert refused.at("/error/code") == "usage"
    assert "policy" in run_cli("explain", "polcy", str(file)).expect(2).stderr
    run_json("explain").expect(2)
