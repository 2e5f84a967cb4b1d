"""Templates under any text and any value."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from agentctl.engine.template import (
    Scope,
    TemplateError,
    compile_value,
    parse,
    parse_condition,
    references,
    render,
    same_json,
)
from agentctl.jsonvalue import JsonValue, canonical

names = st.from_regex(re.compile(r"[A-Za-z0-9_-]{1,12}"), fullmatch=True)
scalars = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
)
values: st.SearchStrategy[JsonValue] = st.recursive(
    scalars | st.text() | st.sampled_from(["${{ inputs.x }}", "${{", "}}"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
tokens = (
    *("${{", "}}", "}", "{", "[", " ", ".", "-", "'", '"'),
    *("inputs", "tasks", "a", "output", "vars.x", "loop.output"),
    *("not", "==", "<", "1", "null", "1e999", "NaN", "\\ud800"),
)
pieces = st.lists(st.text(max_size=6) | st.sampled_from(tokens), max_size=14).map("".join)


@given(st.text() | pieces | pieces.map(lambda text: "${{" + text + "}}"))
def test_parsing_raises_nothing_but_a_template_error(text: str) -> None:
    try:
        parse(text)
        references({"x": [text]})
    except TemplateError as error:
        assert 0 <= error.position <= len(text)
        assert error.message


@given(pieces.map(lambda text: "${{" + text), st.booleans())
def test_parsing_a_condition_raises_nothing_but_a_template_error(text: str, loop: bool) -> None:
    try:
        parse_condition(text, allow_loop=loop)
    except TemplateError as error:
        assert error.message


@given(st.text().filter(lambda text: "${{" not in text))
def test_a_text_without_templates_renders_to_itself(text: str) -> None:
    assert compile_value(text).is_constant
    assert render(text, Scope()) == text
    assert parse(text).expressions == ()


@given(values, st.lists(names, min_size=1, max_size=4))
def test_any_value_comes_back_by_an_exact_template(value: JsonValue, path: list[str]) -> None:
    nested = value
    for name in reversed(path):
        nested = {name: nested}
    assert isinstance(nested, dict)
    text = "${{ vars." + ".".join(path) + " }}"
    assert render(text, Scope(vars=nested)) is value


@given(values, values)
def test_rendering_keeps_types_at_any_depth(first: JsonValue, second: JsonValue) -> None:
    template: JsonValue = {"a": ["${{ inputs.first }}"], "b": {"c": "${{ memory.second }}"}}
    rendered = render(template, Scope(inputs={"first": first}, memory={"second": second}))
    assert canonical(rendered) == canonical({"a": [first], "b": {"c": second}})


@given(scalars | st.text(), st.text().filter(lambda text: "$" not in text and "{" not in text))
def test_a_scalar_stands_in_text_as_json_and_is_not_expanded(value: JsonValue, tail: str) -> None:
    shown = value if isinstance(value, str) else canonical(value)
    assert render("x${{ inputs.v }}" + tail, Scope(inputs={"v": value})) == f"x{shown}{tail}"


@given(values, values)
def test_equality_is_equality_of_canonical_text_up_to_numbers(a: JsonValue, b: JsonValue) -> None:
    assert same_json(a, a)
    assert same_json(a, b) == same_json(b, a)
    if canonical(a) == canonical(b):
        assert same_json(a, b)


@given(values)
def test_a_literal_equals_the_value_it_spells(value: JsonValue) -> None:
    text = "${{ inputs.v == " + canonical(value) + " }}"
    assert parse_condition(text).evaluate(Scope(inputs={"v": value}))
