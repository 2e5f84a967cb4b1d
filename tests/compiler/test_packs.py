"""Packs: found by path, checked, trusted, locked, and used under full names."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, cast

import pytest

from agentctl.effects.sources import SourceFiles
from agentctl.engine.compiler.pack import PackFile, compile_pack
from tests.compiler.compiling import EXAMPLES, TextFiles, compile_text, problems

if TYPE_CHECKING:
    from agentctl.engine.compiler.source import CompileResult
    from agentctl.jsonvalue import JsonObject

WORKFLOW = """\
apiVersion: agentctl.dev/v1
kind: Workflow
metadata: {{name: test}}
spec:
  packTrust: {{unsigned: {unsigned}}}
  packs: [{{name: tools, version: "{version}", source: {source}}}]
  tasks: [{{id: a, uses: "{uses}"}}]
"""
PACK = """\
apiVersion: agentctl.dev/pack/v1alpha1
name: tools
version: 1.2.0
actions: {note: {kind: builtin.assign}}
workflows:
  twice:
    version: 1.0.0
    outputs: {all: "${{ tasks.y.output }}"}
    tasks:
      - {id: x, uses: action:note}
      - {id: y, uses: action:tools.note, needs: [x], with: {v: "${{ tasks.x.output }}"}}
"""


def compiled(
    pack: str = PACK,
    *,
    uses: str = "action:tools.note",
    version: str = "^1.0",
    unsigned: str = "allow",
    source: str = "{path: packs/tools.yaml}",
    files: dict[str, str] | None = None,
) -> CompileResult:
    text = WORKFLOW.format(uses=uses, version=version, unsigned=unsigned, source=source)
    return compile_text(text, files={"packs/tools.yaml": pack, **(files or {})})


def test_actions_and_workflows_of_a_pack_are_used_by_their_full_names() -> None:
    plan = compiled(uses="workflow:tools.twice").plan
    assert plan is not None
    assert plan.tasks["a--x"].uses_name == plan.tasks["a--y"].uses_name == "tools.note"
    actions = cast("dict[str, JsonObject]", plan.definitions["actions"])
    assert actions["tools.note"]["kind"] == "builtin.assign"
    sources = cast("list[JsonObject]", plan.requirements["sources"])
    digest = sha256(PACK.encode()).hexdigest()
    assert sources == [{"path": "packs/tools.yaml", "digest": digest}]


def test_a_name_that_the_pack_lacks_is_suggested() -> None:
    found = problems(compiled(uses="action:tools.nota"))
    assert [(one.code, one.help) for one in found] == [
        ("missing_reference", "did you mean 'tools.note'?")
    ]


def test_a_problem_inside_a_pack_is_placed_in_its_own_file() -> None:
    found = problems(compiled(PACK.replace("needs: [x], ", ""), uses="workflow:tools.twice"))
    assert [(one.code, one.file, one.line, one.path) for one in found] == [
        ("invalid_template", "packs/tools.yaml", 11, "workflows.twice.tasks[1].with.v")
    ]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"version": "^2.0"}, "version 1.2.0, which is not in '^2.0'"),
        ({"version": "latest"}, "not a range"),
        ({"unsigned": "deny"}, "unsigned"),
        ({"source": "{git: 'https://example.com/p'}"}, "cannot be fetched"),
        ({"source": "{path: packs/other.yaml}"}, "does not exist"),
        ({"pack": PACK.replace("name: tools", "name: toolz")}, "not 'tools'"),
        ({"pack": PACK.replace("1.2.0", "one")}, "not a semantic version"),
        ({"pack": PACK + 'agentctl: ">=9.0"\n'}, "needs agentctl >=9.0"),
        ({"pack": WORKFLOW.replace("{{", "{").replace("}}", "}")}, ""),
    ],
)
def test_a_pack_that_cannot_be_used_is_refused(change: dict[str, str], message: str) -> None:
    result = compiled(**change)  # type: ignore[arg-type]
    assert result.plan is None
    assert any(message in one.message for one in problems(result))


def test_an_unsigned_pack_is_warned_of_when_told() -> None:
    result = compiled(unsigned="warn")
    assert result.plan is not None
    assert [(one.code, one.severity) for one in result.diagnostics] == [("pack_error", "warning")]


def test_a_pack_that_starts_programs_needs_trust_for_it() -> None:
    pack = PACK.replace("{kind: builtin.assign}", "{kind: builtin.shell.exec, command: true}")
    assert any("declares process execution" in one.message for one in problems(compiled(pack)))


def test_a_lock_beside_the_workflow_fixes_the_bytes() -> None:
    integrity = f"sha256:{sha256(PACK.encode()).hexdigest()}"
    lock = "packs: [{{name: tools, integrity: '{}'}}]\n"
    same = compiled(files={"agentctl.pack.lock": lock.format(integrity)})
    without = compiled()
    assert same.plan is not None
    assert without.plan is not None
    assert same.plan.workflow_digest == without.plan.workflow_digest
    changed = problems(compiled(files={"agentctl.pack.lock": lock.format("sha256:00")}))
    assert [one.code for one in changed] == ["pack_error"]
    assert "has changed" in changed[0].message


def test_the_older_form_has_its_own_integrity() -> None:
    text = WORKFLOW.format(
        uses="action:tools.note", version="1.2.0", unsigned="allow", source="null"
    ).replace("source: null", "path: tools.yaml, integrity: 'sha256:00'")
    found = problems(compile_text(text, files={"tools.yaml": PACK}))
    assert [(one.code, one.path) for one in found] == [("pack_error", "spec.packs[0].integrity")]


def test_a_dependency_is_found_beside_the_pack_and_seen_by_it_alone() -> None:
    inner = PACK.replace("name: tools", "name: base").replace("tools.note", "base.note")
    outer = PACK.replace("uses: action:note", "uses: action:base.note") + (
        "dependencies: {base: {version: ^1.0, source: {path: deep/base.yaml}}}\n"
    )
    files = {"packs/deep/base.yaml": inner}
    assert compiled(outer, uses="workflow:tools.twice", files=files).plan is not None
    found = problems(compiled(outer, uses="action:base.note", files=files))
    assert [one.code for one in found] == ["missing_reference"]


def test_packs_that_need_each_other_are_refused_by_name() -> None:
    pack = PACK + "dependencies: {tools: {version: ^1.0, source: {path: tools.yaml}}}\n"
    found = problems(compiled(pack))
    assert [one.code for one in found] == ["dependency_cycle"]
    assert "tools -> tools" in found[0].message


def test_a_manifest_alone_tells_what_it_exports() -> None:
    folder = EXAMPLES / "v1"
    result = compile_pack(
        PackFile(
            raw=(folder / "example.pack.yaml").read_bytes(),
            file="example.pack.yaml",
            reader=SourceFiles(folder),
        )
    )
    assert result.diagnostics == []
    assert result.plan is not None
    assert result.plan["name"] == "example.utility"
    assert [*cast("JsonObject", result.plan["actions"])] == ["example.utility.assign"]
    assert [*cast("JsonObject", result.plan["workflows"])] == ["example.utility.echo"]
    dependencies = cast("list[JsonObject]", result.plan["dependencies"])
    assert [(one["name"], one["version"]) for one in dependencies] == [("example.base", "1.1.0")]


def test_a_manifest_alone_is_checked_as_workflows_are() -> None:
    raw = PACK.replace("needs: [x], ", "").replace("action:note", "action:nota").encode()
    result = compile_pack(PackFile(raw=raw, file="p.yaml", reader=TextFiles({})))
    assert result.plan is None
    assert [(one.code, one.line) for one in result.diagnostics] == [
        ("missing_reference", 10),
        ("invalid_template", 11),
    ]
