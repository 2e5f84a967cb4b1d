"""JSON Schemas of documents: validity, closed references, and readable violations."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentctl.engine.schema_check import check_schema, validate, violations

if TYPE_CHECKING:
    from agentctl.jsonvalue import JsonObject, JsonValue


@pytest.mark.parametrize(
    "schema",
    [
        True,
        {},
        {"type": "object", "properties": {"a": {"$ref": "#/$defs/a"}}, "$defs": {"a": True}},
        {"$defs": {"a": {"$anchor": "here"}}, "$ref": "#here"},
        {"$id": "https://example.com/s", "$ref": "#/$defs/a", "$defs": {"a": {}}},
        {"properties": {"$ref": {"type": "string"}}},
        {"const": {"$ref": "https://example.com"}},
        {"$schema": "http://json-schema.org/draft-07/schema#", "definitions": {"a": {}}},
        {"$schema": "https://json-schema.org/draft/2020-12/schema"},
    ],
)
def test_a_good_schema_has_no_problem(schema: JsonValue) -> None:
    assert check_schema(schema) == []


@pytest.mark.parametrize(
    ("schema", "path"),
    [
        ([], "s"),
        ({"type": "strin"}, "s.type"),
        ({"properties": {"a": {"minimum": "1"}}}, "s.properties.a.minimum"),
        ({"items": {"$ref": "https://example.com/x.json"}}, "s.items.$ref"),
        ({"$ref": "other.json#/x"}, "s.$ref"),
        ({"$ref": "#/$defs/absent"}, "s.$ref"),
        ({"anyOf": [{"$ref": "#absent"}]}, "s.anyOf[0].$ref"),
        ({"pattern": "("}, "s.pattern"),
        ({"patternProperties": {"[": {}}}, "s.patternProperties"),
        ({"$schema": "https://example.com/dialect"}, "s.$schema"),
    ],
)
def test_a_bad_schema_is_refused_with_its_place(schema: JsonValue, path: str) -> None:
    assert path in [one.path for one in check_schema(schema, "s")]


def test_a_value_says_every_problem_with_its_place() -> None:
    schema: JsonObject = {
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"items": {"enum": ["x", 1]}}},
        "required": ["c"],
        "additionalProperties": False,
    }
    assert validate({"a": "1", "b": ["y"], "z": 0}, schema, "inputs") == [
        "inputs: 'c' is a required property",
        "inputs: Additional properties are not allowed ('z' was unexpected)",
        "inputs.a: must be integer, not a string",
        'inputs.b[0]: must be one of "x", 1',
    ]


def test_a_boolean_is_no_number() -> None:
    assert validate(True, {"type": "integer"}) == ["must be integer, not a boolean"]
    assert validate(1, {"const": True}) == ["must be true"]


def test_alternatives_say_what_each_of_them_wanted() -> None:
    schema: JsonObject = {"anyOf": [{"type": "string"}, {"type": "null"}]}
    assert validate(1, schema) == [
        "fits no alternative of anyOf: must be string, not a number; or must be null, not a number"
    ]


def test_a_schema_without_end_is_an_answer_not_a_crash() -> None:
    assert "without end" in validate(1, {"$ref": "#"})[0]


def test_a_huge_value_is_not_printed() -> None:
    message = violations("x" * 100_000, {"not": {"type": "string"}})[0].message
    assert len(message) < 300


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    [
                        "type",
                        "properties",
                        "$ref",
                        "items",
                        "pattern",
                        "$id",
                        "anyOf",
                        "not",
                        "$schema",
                    ]
                ),
                inner,
                max_size=4,
            )
        ),
        max_leaves=10,
    )
)
def test_any_value_is_checked_without_a_crash(schema: JsonValue) -> None:
    if not check_schema(schema):
        validate({"a": [1, "x"]}, schema)
