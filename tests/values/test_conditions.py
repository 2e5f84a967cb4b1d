"""Conditions: truth, typed equality, order of numbers, and what is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agentctl.engine.template import (
    MissingValue,
    Scope,
    TemplateError,
    parse_condition,
    same_json,
)

if TYPE_CHECKING:
    from agentctl.jsonvalue import JsonValue

SCOPE = Scope(
    inputs={
        "one": 1,
        "text": "1",
        "yes": True,
        "null": None,
        "half": 0.5,
        "quoted": 'it\'s "so"',
        "list": [1, {"a": True}],
    },
    vars={"loopIndex": 1, "loopPrevious": {"done": False}},
)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("inputs.one", True),
        ("not inputs.one", False),
        ("not inputs.null", True),
        ("inputs.one == 1", True),
        ("inputs.one == 1.0", True),
        ("inputs.one == 1e0", True),
        ('inputs.one == "1"', False),
        ("inputs.one != '1'", True),
        ("inputs.one == true", False),
        ("inputs.yes == true", True),
        ("inputs.yes == 1", False),
        ("inputs.text == '1'", True),
        ("inputs.text == 1", False),
        ("inputs.null == null", True),
        ("inputs.null == false", False),
        ("inputs.null != null", False),
        (r'inputs.quoted == "it\'s \"so\""'.replace(r"\'", "'"), True),
        ('inputs.list == [1, {"a": true}]', True),
        ('inputs.list == [1, {"a": 1}]', False),
        ("vars.loopIndex < 2", True),
        ("vars.loopIndex<=1", True),
        ("vars.loopIndex > 1", False),
        ("vars.loopIndex>=-3.5", True),
        ("inputs.half > 0.25", True),
    ],
)
def test_a_condition_gives_its_truth(expression: str, expected: bool) -> None:
    assert parse_condition(f"${{{{ {expression} }}}}").evaluate(SCOPE) is expected


@pytest.mark.parametrize("value", [None, False, 0, 0.0, "", [], {}])
def test_empty_values_are_false(value: JsonValue) -> None:
    assert not parse_condition("${{ inputs.v }}").evaluate(Scope(inputs={"v": value}))


@pytest.mark.parametrize("value", [True, 1, -0.5, "false", [0], {"a": None}])
def test_other_values_are_true(value: JsonValue) -> None:
    assert parse_condition("${{ inputs.v }}").evaluate(Scope(inputs={"v": value}))


def test_a_missing_path_fails_rather_than_being_false() -> None:
    for text in ("${{ inputs.absent }}", "${{ not inputs.absent }}", "${{ inputs.absent == 1 }}"):
        with pytest.raises(MissingValue):
            parse_condition(text).evaluate(SCOPE)


@pytest.mark.parametrize("name", ["text", "yes", "null", "list"])
def test_only_numbers_are_ordered(name: str) -> None:
    with pytest.raises(TemplateError, match="compare numbers"):
        parse_condition(f"${{{{ inputs.{name} < 2 }}}}").evaluate(SCOPE)


@pytest.mark.parametrize(
    "text",
    ["", "true", "inputs.one == 1", "${{ inputs.one }}!", "${{ inputs.one }}${{ inputs.one }}"],
)
def test_a_condition_is_exactly_one_template(text: str) -> None:
    with pytest.raises(TemplateError, match="exactly one template"):
        parse_condition(text)


def test_a_bare_expression_is_offered_as_a_template() -> None:
    with pytest.raises(TemplateError) as caught:
        parse_condition("inputs.one == 1")
    assert caught.value.help == "write ${{ inputs.one == 1 }}"


def test_outer_white_space_does_not_matter() -> None:
    condition = parse_condition(" ${{ inputs.one }}\n")
    assert condition.expression == "${{ inputs.one }}"
    assert condition.references == (("inputs", "one"),)


def test_loop_output_is_the_previous_output_inside_loops_only() -> None:
    text = "${{ loop.output.done == false }}"
    condition = parse_condition(text, allow_loop=True)
    assert condition.references == (("vars", "loopPrevious", "done"),)
    assert condition.evaluate(SCOPE)
    with pytest.raises(TemplateError, match="condition of a loop"):
        parse_condition(text)
    with pytest.raises(TemplateError, match="condition of a loop"):
        parse_condition("${{ loop.index < 2 }}", allow_loop=True)


def test_equality_looks_into_containers_with_types() -> None:
    assert same_json({"a": [1.0]}, {"a": [1]})
    assert not same_json({"a": [True]}, {"a": [1]})
    assert not same_json([], {})
    assert not same_json([1], [1, 2])
    assert not same_json(None, False)
