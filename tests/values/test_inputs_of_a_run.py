"""Inputs: precedence, unknown names, types of defaults, and the input schema."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agentctl.engine.values.explain import explain_layers
from agentctl.engine.values.inputs import input_layers, resolve_inputs
from agentctl.errors import DocumentError, UsageError

if TYPE_CHECKING:
    from agentctl.jsonvalue import JsonObject

DEFAULTS: JsonObject = {"name": "default", "count": 1, "ready": True, "anything": None}


def test_options_override_files_and_files_override_defaults() -> None:
    found = resolve_inputs(
        DEFAULTS, inputs_file={"name": "file", "count": 2}, overrides=["count=3", "ready=false"]
    )
    assert found == {"name": "file", "count": 3, "ready": False, "anything": None}
    assert DEFAULTS["count"] == 1


def test_inputs_can_be_given_as_json() -> None:
    assert resolve_inputs({"name": "default"}, '{"name": "json"}') == {"name": "json"}


def test_the_last_of_repeated_options_wins() -> None:
    assert resolve_inputs({"mode": "failure"}, overrides=["mode=a", "mode=cancel"]) == {
        "mode": "cancel"
    }


def test_json_and_file_exclude_each_other() -> None:
    with pytest.raises(UsageError, match="exclude"):
        resolve_inputs({}, "{}", {})


@pytest.mark.parametrize("text", ["", "[]", "{", "nul", '{"a":1,"a":2}', "[" * 100_000])
def test_inputs_must_be_a_json_object(text: str) -> None:
    with pytest.raises(UsageError, match="--inputs"):
        resolve_inputs({}, text)


def test_an_unknown_input_says_the_nearest_name() -> None:
    with pytest.raises(DocumentError) as caught:
        resolve_inputs(DEFAULTS, overrides=["conut=3", "nmae=x"])
    assert [(one.code, one.path, one.help) for one in caught.value.diagnostics] == [
        ("missing_reference", "inputs.conut", "did you mean 'count'?"),
        ("missing_reference", "inputs.nmae", "did you mean 'name'?"),
    ]


def test_a_workflow_that_declares_no_inputs_leaves_them_open() -> None:
    assert resolve_inputs({}, overrides=["x=1"]) == {"x": 1}


def test_names_of_the_schema_and_of_templates_are_known() -> None:
    schema: JsonObject = {"properties": {"region": {"type": "string"}}}
    found = resolve_inputs(
        {"a": 1}, overrides=["region=x", "used=2"], schema=schema, also_known=["used"]
    )
    assert found == {"a": 1, "region": "x", "used": 2}


def test_a_schema_that_allows_more_names_leaves_them_open() -> None:
    schema: JsonObject = {"additionalProperties": {"type": "integer"}}
    assert resolve_inputs({"a": 1}, overrides=["b=2"], schema=schema) == {"a": 1, "b": 2}


@pytest.mark.parametrize("override", ["count=many", "ready=1", "count=null", "name=3"])
def test_a_default_fixes_the_type(override: str) -> None:
    with pytest.raises(DocumentError) as caught:
        resolve_inputs(DEFAULTS, overrides=[override])
    problem = caught.value.diagnostics[0]
    assert problem.code == "schema_violation"
    assert "like its default" in problem.message


@pytest.mark.parametrize("override", ["count=1.5", "anything=[1]", 'name="3"'])
def test_numbers_fit_numbers_and_anything_fits_null(override: str) -> None:
    resolve_inputs(DEFAULTS, overrides=[override])


def test_the_schema_decides_where_it_speaks() -> None:
    schema: JsonObject = {"properties": {"count": {"type": ["integer", "string"]}}}
    assert resolve_inputs({"count": 1}, overrides=["count=many"], schema=schema) == {
        "count": "many"
    }


def test_every_violation_of_the_schema_is_reported_with_its_path() -> None:
    schema: JsonObject = {
        "type": "object",
        "required": ["region"],
        "properties": {
            "count": {"type": "integer", "maximum": 3},
            "tags": {"items": {"type": "string"}},
        },
    }
    with pytest.raises(DocumentError) as caught:
        resolve_inputs({"count": 1, "tags": []}, overrides=["count=4", "tags=[1]"], schema=schema)
    assert [one.path for one in caught.value.diagnostics] == [
        "inputs",
        "inputs.count",
        "inputs.tags[0]",
    ]
    assert {one.code for one in caught.value.diagnostics} == {"schema_violation"}


def test_input_layers_explain_themselves() -> None:
    layers = input_layers(DEFAULTS, None, {"name": "x"}, ["count=3"], file_name="inputs.json")
    explained = explain_layers("inputs", layers)
    assert explained["values"] == [
        {"name": "anything", "origin": "spec.inputs", "overrides": []},
        {"name": "count", "origin": "invocation:--input", "overrides": ["spec.inputs"]},
        {
            "name": "name",
            "origin": "invocation:--inputs-file:inputs.json",
            "overrides": ["spec.inputs"],
        },
        {"name": "ready", "origin": "spec.inputs", "overrides": []},
    ]
