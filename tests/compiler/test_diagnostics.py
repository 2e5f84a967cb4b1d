"""Every problem that the compiler finds, with its code and its place.

In the texts below `«` marks where the diagnostic must point; it is taken out before reading.
"""

from __future__ import annotations

import pytest

from tests.compiler.compiling import compile_text, marked, problems
from tests.compiler.diagnostic_cases import AGENT, ASSIGN, CASES, HEAD, HERE


@pytest.mark.parametrize("name", CASES)
def test_a_problem_is_reported_with_its_code_and_place(name: str) -> None:
    code, body, help = CASES[name]
    text, line, column = marked(HEAD + body)
    result = compile_text(text)
    assert result.plan is None
    assert [(one.code, one.line, one.column) for one in problems(result)] == [
        (code, line, column)
    ], problems(result)
    if help is not None:
        assert help in (problems(result)[0].help or "")


def test_a_cycle_names_every_task_of_it() -> None:
    text, _, _ = marked(HEAD + CASES["a cycle"][1])
    assert "a -> b -> a" in problems(compile_text(text))[0].message


def test_all_problems_come_at_once_in_reading_order() -> None:
    body = (
        '  outputs: {x: "${{ tasks.zz.output }}"}\n'
        "  policy: {providers: [none]}\n"
        + AGENT
        + ASSIGN
        + "  tasks:\n    - {id: a, uses: action:asign, needs: [q]}\n"
        + '    - {id: b, uses: action:assign, when: "${{ inputs }}", outputSchema: {type: 1}}\n'
    )
    found = problems(compile_text(HEAD + body))
    assert {one.code for one in found} == {
        "missing_reference",
        "policy_denied",
        "invalid_template",
        "invalid_schema",
    }
    lines = [one.line for one in found]
    assert all(line is not None for line in lines)
    assert lines == sorted(line for line in lines if line is not None)


def test_a_variable_that_the_invocation_gives_is_known() -> None:
    body = (
        ASSIGN
        + "  tasks:\n    - id: a\n      uses: action:assign\n"
        + '      with: {x: "${{ vars.later }}"}\n'
    )
    assert compile_text(HEAD + body).plan is None
    assert compile_text(HEAD + body, overrides=["later"]).plan is not None


def test_what_the_tool_lists_deny_is_a_warning_for_the_run_decides() -> None:
    body = (
        "  policy: {toolsDeny: [filesystem.write]}\n"
        + ASSIGN
        + "  tasks:\n    - {id: a, uses: action:write, with: {path: p, content: c}}\n"
    )
    result = compile_text(HEAD + body)
    assert result.plan is not None
    assert [(one.code, one.severity) for one in result.diagnostics] == [
        ("policy_denied", "warning")
    ]


def test_a_template_in_plain_data_is_a_warning() -> None:
    body = '  vars: {x: "${{ inputs.y }}"}\n' + ASSIGN + HERE
    result = compile_text(HEAD + body)
    assert result.plan is not None
    assert [(one.code, one.severity, one.path) for one in result.diagnostics] == [
        ("invalid_template", "warning", "spec.vars.x")
    ]


def test_writers_of_one_key_may_be_ordered_or_alone() -> None:
    tasks = (
        "  tasks:\n    - {id: a, uses: action:remember, with: {key: k, value: 1}}\n"
        "    - {id: m, uses: action:assign, needs: [a]}\n"
        "    - {id: b, uses: action:remember, needs: [m], with: {key: k, value: 2}}\n"
    )
    assert compile_text(HEAD + "  runtime: {maxConcurrency: 2}\n" + ASSIGN + tasks).plan
    assert compile_text(HEAD + ASSIGN + tasks.replace("needs: [m], ", "")).plan
