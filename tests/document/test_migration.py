"""The unversioned form is translated, and written as text that means the same."""

from __future__ import annotations

import json

import pytest
from hypothesis import given

from agentctl.engine.document.migration import migrate_text
from agentctl.engine.document.model import Workflow
from agentctl.engine.document.reader import read_document
from agentctl.engine.document.tree import parse_tree
from agentctl.engine.document.writing import yaml_text
from agentctl.limits import DOCUMENT_DEPTH_MAX
from tests.document.reading import PLAYBOOK, values, workflow_text
from tests.document.test_text import OBJECTS

OLD = """\
playbook: 1.10
version: 3
description: "yes"
defaults: {x: 1}
inputs: {a: 0o17, b: "0o17", c: '1e3', d: yes, e: , f: "x\\ny\\n", "<<": 1, "": 2, "7": 3}
modules: {copy: {kind: builtin.assign}, both: {kind: builtin.read}}
actions: {both: {kind: builtin.write}}
agents: {h: {kind: builtin.heuristic, model: 5.10, instructions: hi, promptCache: {}}}
memory: {working: {initial: {k: 1}}}
policy: {approvalMode: sometimes, workspaceRoot: .}
tasks:
  - {id: t, uses: "module:copy", compensate: {uses: "module:both"}}
"""


def translated(text: str) -> Workflow:
    """Return the workflow of an unversioned text."""
    result = read_document(text.encode(), "old.yaml")
    assert result.legacy
    assert [one.code for one in result.diagnostics] == ["migration_required"]
    assert [one.severity for one in result.diagnostics] == ["warning"]
    assert isinstance(result.document, Workflow)
    return result.document


def test_the_fixture_becomes_what_its_expectation_says() -> None:
    expected = json.loads(PLAYBOOK.with_name("assign.expected.json").read_bytes())
    workflow = translated(PLAYBOOK.read_text(encoding="utf-8"))
    assert workflow.metadata.name == expected["workflowName"]
    (task,) = workflow.spec.tasks
    assert [task.id] == expected["order"]
    assert task.uses == f"{expected['task']['useKind']}:{expected['task']['reference']}"
    assert task.needs == expected["task"]["needs"]


def test_every_rule_of_the_translation_holds() -> None:
    workflow = translated(OLD)
    spec = workflow.spec
    assert (workflow.metadata.name, workflow.metadata.description) == ("1.10", "yes")
    assert {name: one.kind for name, one in spec.actions.items()} == {
        "copy": "builtin.assign",
        "both": "builtin.write",
    }
    assert (spec.agents["h"].provider, spec.agents["h"].model) == ("fake", "5.10")
    assert spec.memory.working == {"k": 1}
    assert (spec.policy.approval, spec.policy.workspace_root) == ("mutations", ".")
    assert {name: one.kind for name, one in spec.providers.items()} == {
        "fake": "fake",
        "openai": "openai",
    }
    credential = spec.providers["openai"].credential
    assert credential is not None
    assert credential.env == "OPENAI_API_KEY"
    assert spec.tasks[0].uses == "action:copy"
    assert spec.tasks[0].compensate is not None
    assert spec.tasks[0].compensate.uses == "action:both"


@pytest.mark.parametrize("mode", ["never", "always"])
def test_an_approval_mode_that_still_exists_is_kept(mode: str) -> None:
    assert translated(OLD.replace("sometimes", mode)).spec.policy.approval == mode


def test_declared_providers_are_kept_without_the_fields_of_that_age() -> None:
    workflow = translated(OLD + "providers: {p: {kind: fake, baseUrl: x, defaults: {}}}\n")
    assert list(workflow.spec.providers) == ["p"]


def test_the_migrated_text_is_the_same_workflow() -> None:
    text, found = migrate_text(OLD.encode(), "old.yaml")
    assert text is not None
    assert [one.code for one in found] == ["migration_required"]
    result = read_document(text.encode(), "new.yaml")
    assert result.diagnostics == []
    assert result.document == translated(OLD)
    top, spec = values(text), values(text)["spec"]
    assert list(top) == ["apiVersion", "kind", "metadata", "spec"]
    assert isinstance(spec, dict)
    assert list(spec) == [
        "inputs", "providers", "agents", "actions", "memory", "policy", "tasks"
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("line", "path"),
    [
        ("nonsense: 1", "spec.nonsense"),
        ("runtime: 7", "spec.runtime"),
        ("runtime: {maxConcurency: 2}", "spec.runtime.maxConcurency"),
        ("providers: [x]", "spec.providers"),
        ("tools: {t: {}}", "spec.tools.t.kind"),
    ],
)
def test_what_cannot_be_translated_is_named_and_not_dropped(line: str, path: str) -> None:
    raw = f"{OLD}{line}\n".encode()
    result = read_document(raw, "old.yaml")
    assert result.document is None
    assert path in [one.path for one in result.diagnostics]
    text, found = migrate_text(raw, "old.yaml")
    assert text is None
    assert path in [one.path for one in found]


@pytest.mark.parametrize("key", ["policy", "memory", "agents", "tasks", "modules"])
def test_a_part_of_the_wrong_shape_is_named_and_not_dropped(key: str) -> None:
    lines = [one for one in OLD.splitlines() if not one.startswith((key, "actions", "  -"))]
    text = "\n".join([*lines, f"{key}: 5"])
    found = read_document(text.encode(), "old.yaml").diagnostics
    name = "actions" if key == "modules" else key
    assert [one.line for one in found if one.path == f"spec.{name}"] == [len(lines) + 1]


def test_what_cannot_be_translated_keeps_its_place() -> None:
    text = OLD.replace("approvalMode: sometimes", "approvalMode: [x]").replace("uses: ", "used: ")
    found = read_document(text.encode(), "old.yaml").diagnostics
    assert [(one.path, one.line, one.column) for one in found if one.severity == "error"] == [
        ("spec.policy.approval", 10, 24),
        ("spec.tasks[0].used", 12, 13),
        ("spec.tasks[0].compensate.used", 12, 47),
        ("spec.tasks[0].compensate.uses", 12, 46),
        ("spec.tasks[0].uses", 12, 5),
    ]


def test_a_translation_that_would_pass_a_limit_is_refused() -> None:
    deep = "[" * (DOCUMENT_DEPTH_MAX - 2)
    text = OLD + f"vars: {{a: {deep}{deep.replace('[', ']')}}}\n"
    assert translated(text).spec.vars
    made, found = migrate_text(text.encode(), "old.yaml")
    assert made is None
    assert "deep" in found[-1].message


def test_only_a_playbook_can_be_migrated() -> None:
    text, (problem,) = migrate_text(workflow_text().encode(), "f")
    assert text is None
    assert problem.code == "incompatible_state"


@given(OBJECTS)
def test_any_tree_is_written_as_text_that_reads_the_same(value: dict[str, object]) -> None:
    root = parse_tree(json.dumps(value).encode(), "f").root
    assert root is not None
    assert values(yaml_text(root)) == value
