"""Templates: the grammar, the types of rendered values, and what an error says."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import yaml

from agentctl.engine.template import (
    MissingValue,
    Scope,
    TemplateError,
    compile_value,
    parse,
    placed_references,
    references,
    render,
)
from agentctl.limits import TEMPLATE_TEXT_BYTES_MAX

if TYPE_CHECKING:
    from agentctl.jsonvalue import JsonValue

EXAMPLES = sorted((Path(__file__).parents[2] / "../shared/examples").rglob("*.yaml"))

SCOPE = Scope(
    inputs={"name": "world", "count": 3, "ratio": 0.5, "flag": True, "nothing": None},
    vars={"list": [1, "x"], "object": {"inner": {"deep": "found"}}, "n-1": "dashed"},
    memory={"note": "kept"},
    tasks={"build-it": {"output": {"output": {"text": "done"}}}, "empty": {"output": None}},
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("${{ inputs.count }}", 3),
        ("${{inputs.flag}}", True),
        ("${{\n inputs.nothing\t}}", None),
        ("${{ vars.list }}", [1, "x"]),
        ("${{ vars.object.inner.deep }}", "found"),
        ("${{ vars.n-1 }}", "dashed"),
        ("${{ memory.note }}", "kept"),
        ("${{ tasks.build-it.output }}", {"output": {"text": "done"}}),
        ("${{ tasks.build-it.output.output.text }}", "done"),
        ("${{ tasks.empty.output }}", None),
        ("${{ inputs.count == 3 }}", True),
        ("${{ not inputs.flag }}", False),
        ("a ${{ inputs.name }} b", "a world b"),
        ("${{ inputs.name }}${{ inputs.count }}", "world3"),
        ("${{ inputs.ratio }}/${{ inputs.flag }}/${{ inputs.nothing }}", "0.5/true/null"),
        (" ${{ inputs.count }}", " 3"),
        ("$ {{ inputs.name }} $${ }}", "$ {{ inputs.name }} $${ }}"),
        ("", ""),
    ],
)
def test_a_text_renders_to_its_value(text: str, expected: JsonValue) -> None:
    rendered = render(text, SCOPE)
    assert rendered == expected
    assert type(rendered) is type(expected)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("${{ inputs.name", "closing `}}` is missing"),
        ("${{ inputs.name }", "`}}` is missing"),
        ("${{", "expected a path"),
        ("${{ }}", "expected a path"),
        ("${{ inputs }}", "a name is missing after 'inputs'"),
        ("${{ inputs. }}", "a name is missing after 'inputs'"),
        ("${{ inputs.name. }}", "a name is missing after '.'"),
        ("${{ tasks.a }}", "tasks.ID.output"),
        ("${{ tasks.a.text }}", "tasks.ID.output"),
        ("${{ input.name }}", "starts with inputs, vars, memory or tasks"),
        ("${{ env.HOME }}", "not 'env'"),
        ("${{ vars.list[0] }}", "no indexing"),
        ("${{ upper(inputs.name) }}", "not 'upper'"),
        ("${{ inputs.count + 1 }}", "found '+ 1 }}'"),
        ("${{ inputs.name = 'x' }}", "equality is written `==`"),
        ("${{ inputs.name == vars.list }}", "not with a path"),
        ("${{ inputs.name == cancel }}", "JSON literal"),
        ("${{ inputs.name == 'open }}", "closing '"),
        ("${{ inputs.count < '3' }}", "compares with a number"),
        ("${{ inputs.count < true }}", "compares with a number"),
        ("${{ not inputs.count == 3 }}", "`not` takes a path alone"),
        ("${{ inputs.count == NaN }}", "JSON literal"),
        ("${{ inputs.count == 1e999 }}", "JSON literal"),
        ('${{ inputs.count == {"a": 1, "a": 2} }}', "JSON literal"),
        ("is it ${{ inputs.flag == true }}?", "must be the whole string"),
        ("${{ loop.output }}", "condition of a loop"),
        ("${{ inputs.name }} and ${{ oops }}", "not 'oops'"),
    ],
)
def test_a_malformed_template_says_why(text: str, reason: str) -> None:
    with pytest.raises(TemplateError) as caught:
        parse(text)
    assert reason in caught.value.message
    assert caught.value.code == "invalid_template"
    assert caught.value.exit_code == 2


def test_a_malformed_template_says_where() -> None:
    with pytest.raises(TemplateError) as caught:
        parse("12345${{ vars.x ! }}")
    assert caught.value.position == 16
    assert "(character 17)" in caught.value.message


def test_a_word_without_quotes_is_offered_with_them() -> None:
    with pytest.raises(TemplateError) as caught:
        parse("${{ inputs.mode == cancel }}")
    assert caught.value.help == "write text in quotes: 'cancel'"


def test_a_wrong_root_says_the_nearest_one() -> None:
    with pytest.raises(TemplateError) as caught:
        parse("${{ input.name }}")
    assert caught.value.help == "did you mean 'inputs'?"


def test_a_missing_name_says_the_nearest_one() -> None:
    with pytest.raises(MissingValue) as caught:
        render("${{ tasks.build-it.output.output.txt }}", SCOPE)
    error = caught.value
    assert error.code == "missing_value"
    assert error.path == ("tasks", "build-it", "output", "output", "txt")
    assert error.missing == error.path
    assert "tasks.build-it.output.output has no 'txt'" in error.message
    assert error.help == "did you mean 'text'?"


def test_the_first_absent_part_is_named() -> None:
    with pytest.raises(MissingValue) as caught:
        render("${{ tasks.nowhere.output.text }}", SCOPE)
    assert caught.value.missing == ("tasks", "nowhere")


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("inputs.name.x", "a string"),
        ("inputs.count.x", "a number"),
        ("inputs.flag.x", "a boolean"),
        ("inputs.nothing.x", "null"),
        ("vars.list.0", "an array"),
    ],
)
def test_stepping_into_anything_but_an_object_is_missing(path: str, kind: str) -> None:
    with pytest.raises(MissingValue) as caught:
        render(f"${{{{ {path} }}}}", SCOPE)
    assert f"is {kind}, which has no" in caught.value.message


@pytest.mark.parametrize("name", ["list", "object"])
def test_only_scalars_can_stand_inside_text(name: str) -> None:
    with pytest.raises(TemplateError) as caught:
        render(f"see ${{{{ vars.{name} }}}}", SCOPE)
    assert "inside text" in caught.value.message
    assert caught.value.position == 4


def test_template_syntax_in_a_value_is_never_expanded() -> None:
    scope = Scope(inputs={"a": "${{ inputs.b }}", "b": "secret"})
    assert render("${{ inputs.a }}", scope) == "${{ inputs.b }}"
    assert render("x ${{ inputs.a }}", scope) == "x ${{ inputs.b }}"


def test_a_closing_mark_inside_a_literal_ends_nothing() -> None:
    scope = Scope(inputs={"o": {"a": {"b": 1}}, "t": "}}"})
    assert render('${{ inputs.o == {"a":{"b":1}}}}', scope) is True
    assert render("${{ inputs.t == '}}' }}", scope) is True


def test_keys_and_constants_stay_as_they_are() -> None:
    constant: JsonValue = {"deep": ["a", {"b": 1}]}
    value: JsonValue = {"${{ inputs.name }}": constant, "x": ["${{ inputs.count }}", 2]}
    rendered = render(value, SCOPE)
    assert rendered == {"${{ inputs.name }}": constant, "x": [3, 2]}
    assert isinstance(rendered, dict)
    assert rendered["${{ inputs.name }}"] is constant
    assert list(rendered) == ["${{ inputs.name }}", "x"]


def test_a_constant_is_returned_itself() -> None:
    value: JsonValue = {"a": [1, "text"]}
    compiled = compile_value(value)
    assert compiled.is_constant
    assert compiled.render(SCOPE) is value


def test_rendering_changes_neither_template_nor_scope() -> None:
    value: JsonValue = {"a": ["${{ vars.list }}", 1], "b": {"c": "${{ inputs.name }}", "d": 1}}
    compiled = compile_value(value)
    assert compiled.render(SCOPE) == compiled.render(SCOPE)
    assert value == {"a": ["${{ vars.list }}", 1], "b": {"c": "${{ inputs.name }}", "d": 1}}


def test_references_are_found_once_each_and_in_order() -> None:
    value: JsonValue = {
        "${{ inputs.key }}": "${{ vars.b }} ${{ inputs.a }}",
        "list": ["${{ tasks.t-1.output }}", {"again": "${{ vars.b != 'x' }}"}],
    }
    expected = (("vars", "b"), ("inputs", "a"), ("tasks", "t-1", "output"))
    assert references(value) == expected
    assert compile_value(value).paths == expected


def test_every_malformed_string_is_reported_with_its_place() -> None:
    value: JsonValue = {"a": "${{ }}", "b": [{"c": "${{ nope.x }}"}, "${{ vars.fine }}"]}
    found, errors = placed_references(value, "spec.tasks[2].with")
    assert [(one.place, one.path) for one in found] == [
        ("spec.tasks[2].with.b[1]", ("vars", "fine"))
    ]
    assert [one.place for one in errors] == ["spec.tasks[2].with.a", "spec.tasks[2].with.b[0].c"]


def test_a_text_that_grows_beyond_its_limit_is_refused() -> None:
    scope = Scope(inputs={"big": "x" * (TEMPLATE_TEXT_BYTES_MAX // 2)})
    with pytest.raises(TemplateError) as caught:
        render("${{ inputs.big }}${{ inputs.big }}!", scope)
    assert str(TEMPLATE_TEXT_BYTES_MAX) in caught.value.message


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_every_template_of_the_examples_parses(path: Path) -> None:
    _, errors = placed_references(yaml.load(path.read_text(encoding="utf-8"), yaml.BaseLoader))
    assert errors == []
