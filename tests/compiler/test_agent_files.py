"""Agents whose instructions, model and grants come from an agent file."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Any, cast

import pytest

from agentctl.engine.view import plan_view
from tests.compiler.compiling import compile_bytes, compile_text, marked, problems
from tests.compiler.diagnostic_cases import HEAD

if TYPE_CHECKING:
    from agentctl.diagnostics import Diagnostic
    from agentctl.engine.compiler.source import CompileResult

PATH = ".claude/agents/helper.md"
READER = "---\nname: helper\ntools: Read, Grep\nmodel: opus\n---\nLook at ${{ secrets.TOKEN }}.\n"
TOOLS = "  tools:\n" + "".join(
    f"    {name}: {{kind: builtin.workspace.{verb}, description: d, inputSchema: true,"
    f" outputSchema: true, capability: filesystem.{verb}, risk: low,"
    f" effectClass: {effect}, idempotency: idempotent}}\n"
    for name, verb, effect in (
        ("look", "read", "observe"),
        ("save", "write", "workspace_mutate"),
    )
)
TASKS = "  tasks:\n    - {id: a, uses: agent:helper, with: {prompt: hi}}\n"


def document(fields: str) -> str:
    """Return a workflow whose one agent has these fields."""
    agents = f"  agents:\n    helper: {{provider: fake, {fields}}}\n"
    return HEAD + "  providers: {fake: {kind: fake}}\n" + TOOLS + agents + TASKS


def compiled(fields: str, text: str = READER, path: str = PATH) -> CompileResult:
    """Compile a workflow beside one agent file."""
    return compile_text(document(fields), files={path: text})


def definition(result: CompileResult) -> dict[str, Any]:
    """Return what the plan says about the agent."""
    assert result.plan is not None, result.diagnostics
    agents = cast("dict[str, Any]", result.plan.definitions["agents"])
    return cast("dict[str, Any]", agents["helper"])


def warnings(result: CompileResult) -> list[Diagnostic]:
    """Return the warnings of a result."""
    return [one for one in result.diagnostics if one.severity == "warning"]


def test_instructions_and_model_come_from_the_file() -> None:
    agent = definition(compiled(f"file: {PATH}, tools: [look]"))
    assert agent["instructions"] == "Look at ${{ secrets.TOKEN }}.\n"
    assert agent["model"] == "opus"
    assert agent["tools"] == ["look"]


def test_the_workflows_own_model_comes_first() -> None:
    assert definition(compiled(f"file: {PATH}, model: mine"))["model"] == "mine"


def test_the_plan_keeps_the_digest_and_the_grant_with_its_places() -> None:
    result = compiled(f"file: {PATH}, tools: [look]")
    record = definition(result)["agentFile"]
    digest = sha256(READER.encode()).hexdigest()
    assert (record["path"], record["digest"], record["format"]) == (PATH, digest, "claude")
    assert record["capabilities"] == ["filesystem.read"]
    assert record["grant"]["powersLower"] == ["read.file", "search.text"]
    assert record["grant"]["tokens"][1] == {
        "text": "Grep",
        "line": 3,
        "column": 14,
        "grants": ["search"],
        "isDenied": False,
    }
    assert result.plan is not None
    assert result.plan.requirements["sources"] == [{"path": PATH, "digest": digest}]


def test_a_public_plan_shows_the_digest_of_the_files_text_alone() -> None:
    plan = compiled(f"file: {PATH}").plan
    assert plan is not None
    assert "Look at" not in str(plan_view(plan))
    assert definition(compiled(f"file: {PATH}"))["instructionsDigest"] in str(plan_view(plan))


def test_another_byte_in_the_file_is_another_plan() -> None:
    first, second = (compiled(f"file: {PATH}", text).plan for text in (READER, READER + "\n"))
    assert first is not None
    assert second is not None
    assert first.plan_digest != second.plan_digest


def test_a_tool_that_the_file_does_not_grant_is_left_out_and_told() -> None:
    text, line, column = marked(document(f"file: {PATH}, tools: [look, «save]"))
    result = compile_text(text, files={PATH: READER})
    assert definition(result)["tools"] == ["look"]
    (told,) = warnings(result)
    assert (told.code, told.line, told.column) == ("tool_not_granted", line, column)
    assert told.message == (
        "the agent will not get the tool 'save': it needs filesystem.write, and "
        ".claude/agents/helper.md does not surely grant that: "
        "it grants read, search, by Read (3:8), Grep (3:14)"
    )
    requirements = result.plan.requirements if result.plan else {}
    assert requirements["capabilities"] == ["filesystem.read", "model"]


def test_a_file_that_inherits_grants_nothing() -> None:
    result = compiled(f"file: {PATH}, model: m, tools: [look]", "---\nname: helper\n---\nDo.\n")
    assert definition(result)["tools"] == []
    (told,) = warnings(result)
    assert told.code == "tool_not_granted"
    assert "it leaves its tools to its host (at 2:1" in told.message


def test_a_name_that_nobody_knows_is_told_at_its_place_in_the_file() -> None:
    result = compiled(f"file: {PATH}, model: m", READER.replace("Grep", "Gerp"))
    (told,) = warnings(result)
    assert (told.code, told.file, told.line, told.column) == ("agent_file", PATH, 3, 14)
    assert "'helper'" in told.message
    assert "Gerp" in told.message


def test_a_recipe_is_found_by_its_own_keys_and_read() -> None:
    recipe = (
        "version: 1.0.0\ntitle: Helper\ndescription: d\ninstructions: Help.\n"
        "extensions:\n  - {type: builtin, name: developer, available_tools: [write, edit]}\n"
    )
    agent = definition(
        compiled("file: helper.yaml, model: m, tools: [look, save]", recipe, "helper.yaml")
    )
    assert agent["instructions"] == "Help."
    assert agent["tools"] == ["save"]


def test_a_named_format_is_taken_where_the_path_does_not_tell_it() -> None:
    result = compiled("file: a.md, format: claude, tools: [look]", READER, "a.md")
    assert definition(result)["tools"] == ["look"]


@pytest.mark.parametrize(
    ("fields", "text", "code", "place", "message"),
    [
        ("file: none.md", "", "source_error", "file", "'none.md' does not exist"),
        ('file: "${{ inputs.x }}"', "", "source_error", "file", "a template cannot stand"),
        ("file: ../a.md", "", "source_error", "file", "../a.md"),
        (f"file: {PATH}", "---\ntools: Read\n---\n", "agent_file", "model", "names none"),
        (
            f"file: {PATH}",
            "---\nmodel: inherit\n---\n",
            "agent_file",
            "model",
            "no model is named: .claude/agents/helper.md says 'inherit'",
        ),
        (f"file: {PATH}, instructions: x, model: m", READER, "schema_violation", "file", "not both"),
        (
            f"file: {PATH}, instructionsFile: x, model: m",
            READER,
            "schema_violation",
            "file",
            "an agent has instructionsFile or file, not both",
        ),
        ("instructions: x", "", "schema_violation", "model", "model is missing"),
        ("instructions: x, model: m, format: claude", "", "schema_violation", "format", "needs an"),
        (f"file: {PATH}, format: cluade", READER, "schema_violation", "format", "cluade"),
    ],
)  # fmt: skip
def test_a_file_that_cannot_be_used_is_told_at_its_field(
    fields: str, text: str, code: str, place: str, message: str
) -> None:
    result = compiled(fields, text)
    assert result.plan is None
    (told,) = problems(result)
    assert (told.code, told.path) == (code, f"spec.agents.helper.{place}")
    assert message in told.message


def test_a_place_that_does_not_tell_the_format_needs_it_named() -> None:
    (told,) = problems(compiled("file: a.md", READER, "a.md"))
    assert told.code == "agent_file"
    assert told.message == "file: the place of 'a.md' does not tell its format"
    assert "claude, copilot" in (told.help or "")


def test_a_grant_that_cannot_be_read_is_told_at_its_place_in_the_file() -> None:
    (told,) = problems(compiled(f"file: {PATH}, model: m", "---\ntools: Read\ntools: Bash\n---\n"))
    assert (told.code, told.file, told.line) == ("agent_file", PATH, 3)


def test_bytes_that_are_no_text_are_refused() -> None:
    class Bytes:
        def read(self, path: str, base: str) -> bytes:
            return b"---\ntools: Read\n---\n\xff"

    (told,) = problems(compile_bytes(document(f"file: {PATH}, model: m").encode(), Bytes()))
    assert (told.code, told.path) == ("agent_file", "spec.agents.helper.file")
