"""What the tests of documents share: the examples, and a small workflow to change."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from agentctl.engine.document.model import Workflow
from agentctl.engine.document.reader import read_document, read_values

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentctl.diagnostics import Diagnostic
    from agentctl.jsonvalue import JsonObject

EXAMPLES = Path(__file__).parents[2] / "../shared/examples"
LOCK = EXAMPLES / "v1/agentctl.pack.lock"
PLAYBOOK = EXAMPLES / "fixtures/compat/v0/assign.playbook.yaml"
FILES = sorted([*EXAMPLES.rglob("*.yaml"), *EXAMPLES.rglob("*.pack")])

HEAD = """\
apiVersion: agentctl.dev/v1
kind: Workflow
metadata: {name: small}
spec:
"""
TASKS = """\
  tasks:
    - {id: one, uses: action:copy}
"""


def workflow_text(spec: str = "", tasks: str = TASKS) -> str:
    """Return a workflow with more lines in its spec."""
    return HEAD + spec + tasks


def read_workflow(text: str) -> Workflow:
    """Return the workflow of a text that has no problems."""
    result = read_document(text.encode(), "workflow.yaml")
    assert result.diagnostics == []
    assert isinstance(result.document, Workflow)
    return result.document


def problems_of(text: str | bytes) -> Sequence[Diagnostic]:
    """Return the problems of a document that cannot be read."""
    raw = text.encode() if isinstance(text, str) else text
    result = read_document(raw, "workflow.yaml")
    assert result.document is None
    assert result.diagnostics
    return result.diagnostics


def only_problem(text: str | bytes) -> Diagnostic:
    """Return the only problem of a document."""
    (problem,) = problems_of(text)
    return problem


def values(text: str | bytes) -> JsonObject:
    """Return the object that a text holds."""
    raw = text.encode() if isinstance(text, str) else text
    value, problems = read_values(raw, "values.yaml")
    assert problems == []
    assert value is not None
    return value


def refusal(text: str | bytes) -> Diagnostic:
    """Return the only reason why a text holds no object."""
    raw = text.encode() if isinstance(text, str) else text
    value, (problem,) = read_values(raw, "values.yaml")
    assert value is None
    return problem
