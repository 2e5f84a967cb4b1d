"""Every provider is told of the same tools with the same schemas, as far as it can take them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, cast

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentctl.catalog.bindings import PROVIDERS, Provider, bind, read_arguments
from agentctl.catalog.dialects import DECLARED_BOUNDS, STRICT_BOUNDS, declared, strict
from agentctl.catalog.exposure import expose
from agentctl.catalog.policy import Grant, Policy
from agentctl.catalog.tools import BY_ID, CATALOG
from tests.catalog.specified import CLAIMS, SPECIFIED, TOOLS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from agentctl.catalog.descriptor import Descriptor

NAME = {"fake": "operationId"}
VERBATIM = {"anthropic": "input_schema", "mcp": "inputSchema", "fake": "inputSchema"}
STRUCTURE = {"type", "properties", "required", "additionalProperties", "items", "anyOf"}
DECLARED_STRUCTURE = {"type", "properties", "required", "items", "anyOf", "nullable"}
PROVIDER = st.sampled_from(PROVIDERS)


def published() -> tuple[Descriptor, ...]:
    """Return what the published case shows: eighteen tools."""
    claims = frozenset(SPECIFIED["conformance18"]["grants"])
    return expose(Grant(role="agent", mode="standard", claims=claims), Policy()).visible


def names(provider: Provider, tools: Sequence[Descriptor]) -> list[object]:
    """Return the names of a provider's definitions."""
    return [bare(one)[NAME.get(provider, "name")] for one in bind(provider, tools)]


def bare(definition: Any) -> Any:
    """Return a definition without what its protocol puts around it."""
    return definition.get("function", definition)


def test_the_published_case_is_the_same_eighteen_tools_for_every_provider() -> None:
    wanted = [one["operationId"] for one in TOOLS[:14]]
    wanted += SPECIFIED["conformance18"]["optional"]
    assert len(wanted) == 18
    assert {provider: names(provider, published()) for provider in PROVIDERS} == dict.fromkeys(
        PROVIDERS, wanted
    )


@given(
    st.frozensets(st.sampled_from(CLAIMS)),
    st.sampled_from(["standard", "ask", "planning", "skill_test"]),
    PROVIDER,
)
def test_a_binding_carries_what_is_visible_in_its_order_and_no_more(
    claims: frozenset[str], mode: Any, provider: Provider
) -> None:
    seen = expose(Grant(role="board", mode=mode, claims=claims), Policy()).visible
    assert names(provider, seen) == [one.operation_id for one in seen]
    told = [bare(one)["description"] for one in bind(provider, seen)]
    assert told == [one.description for one in seen]


@pytest.mark.parametrize("provider", VERBATIM)
def test_a_provider_that_takes_json_schema_gets_the_schemas_as_they_are(
    provider: Provider,
) -> None:
    for definition, row in zip(bind(provider, CATALOG), TOOLS, strict=True):
        assert definition[VERBATIM[provider]] == row["inputSchema"]
        assert (
            definition.get("outputSchema", SPECIFIED["outputSchema"])
            == (SPECIFIED["outputSchema"])
        )


@pytest.mark.parametrize("provider", ["openai", "codex", "openai_compatible"])
def test_a_strict_tool_keeps_the_rules_of_strict_tools(provider: Provider) -> None:
    for definition in bind(provider, CATALOG):
        assert bare(definition)["strict"] is True
        assert definition["type"] == "function"
        for schema in schemas(bare(definition)["parameters"]):
            assert schema.keys() <= STRUCTURE | {"description"} | set(STRICT_BOUNDS)
            assert {"type", "anyOf"} & schema.keys()
            if schema.get("type") == "object":
                assert schema["required"] == list(schema["properties"])
                assert schema["additionalProperties"] is False


def test_a_declaration_keeps_to_the_words_that_it_may_use() -> None:
    for definition in bind("gemini", CATALOG):
        if "parameters" not in definition:
            continue
        for schema in schemas(definition["parameters"]):
            assert schema.keys() <= DECLARED_STRUCTURE | {"description"} | set(DECLARED_BOUNDS)
            assert schema["type"] in {"STRING", "INTEGER", "ARRAY", "OBJECT"}
            assert schema["type"] != "OBJECT" or schema["properties"]


def test_a_tool_without_input_declares_no_parameters() -> None:
    without = {one["name"] for one in bind("gemini", CATALOG) if "parameters" not in one}
    assert without == {one["operationId"] for one in TOOLS if not one["inputSchema"]["properties"]}


def test_the_hint_that_a_tool_only_reads_follows_from_its_class() -> None:
    hints = [cast("Any", one["annotations"])["readOnlyHint"] for one in bind("mcp", CATALOG)]
    assert hints == [one["sideEffectClass"] in ("read", "secret_read") for one in TOOLS]


def test_a_document_is_written_with_these_parameters() -> None:
    tool = BY_ID["write_document"]
    text, null = {"type": "string"}, {"type": "null"}
    (definition,) = bind("codex", [tool])
    assert definition["parameters"] == {
        "type": "object",
        "properties": {
            "key": text,
            "title": text,
            "body": text,
            "baseRevisionId": {"anyOf": [text, null]},
            "changeSummary": {"anyOf": [text, null]},
        },
        "required": ["key", "title", "body", "baseRevisionId", "changeSummary"],
        "additionalProperties": False,
    }
    (definition,) = bind("gemini", [tool])
    some = {"type": "STRING", "minLength": 1}
    assert definition["parameters"] == {
        "type": "OBJECT",
        "properties": {
            "key": some,
            "title": some,
            "body": {"type": "STRING"},
            "baseRevisionId": {**some, "nullable": True},
            "changeSummary": {"type": "STRING"},
        },
        "required": ["key", "title", "body", "baseRevisionId"],
    }


@pytest.mark.parametrize("provider", ["openai", "gemini"])
def test_the_bounds_that_a_subset_loses_are_these(provider: Provider) -> None:
    kept = set(STRICT_BOUNDS if provider == "openai" else DECLARED_BOUNDS)
    structure = {"type", "properties", "required", "additionalProperties", "items", "oneOf"}
    used = {key for row in TOOLS for one in schemas(row["inputSchema"]) for key in one}
    assert used - structure - kept == ({"minLength"} if provider == "openai" else set())


def test_alternatives_that_no_tool_has_yet_follow_the_same_rules() -> None:
    number, text = {"type": "number", "multipleOf": 2}, {"type": "string", "maxLength": 3}
    either: Any = {
        "type": "object",
        "properties": {"x": {"oneOf": [number, text]}},
        "required": [],
        "additionalProperties": False,
    }
    assert strict(either)["properties"] == {
        "x": {"anyOf": [number, {"type": "string"}, {"type": "null"}]}
    }
    assert declared(either)["properties"] == {
        "x": {"anyOf": [{"type": "NUMBER"}, {"type": "STRING", "maxLength": 3}]}
    }


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


def fitting(schema: dict[str, Any]) -> st.SearchStrategy[Any]:
    """Return values that fit a schema."""
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    if "oneOf" in schema:
        return st.one_of(*map(fitting, schema["oneOf"]))
    simple = {
        "string": st.text(min_size=schema.get("minLength", 0), max_size=9),
        "integer": st.integers(min_value=schema.get("minimum")),
        "null": st.none(),
    }
    kind = schema.get("type")
    if kind in simple:
        return simple[kind]
    if kind == "array":
        return st.lists(fitting(schema["items"]), max_size=3)
    if kind == "object" and schema["additionalProperties"] is False:
        parts = {name: fitting(one) for name, one in schema["properties"].items()}
        needed = {name: parts.pop(name) for name in schema["required"]}
        return st.fixed_dictionaries(needed, optional=parts)
    return st.dictionaries(st.text(), st.text(), max_size=3) if kind == "object" else JSON


@st.composite
def calls(draw: st.DrawFn) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return a tool and an input; now and then one of its values fits nothing."""
    row = draw(st.sampled_from(TOOLS))
    value = draw(fitting(row["inputSchema"]))
    if value and draw(st.integers(0, 3)) == 0:
        value[draw(st.sampled_from(sorted(value)))] = draw(JSON)
    return row, value


def as_written(row: dict[str, Any], value: dict[str, Any], provider: str) -> dict[str, Any]:
    """Return an input as a model writes it that keeps to a provider's schema."""
    shapes = row["inputSchema"]["properties"]
    written = {
        name: json.dumps(one) if not shapes[name] or name == "headers" else one
        for name, one in value.items()
    }
    missing = set(shapes) - set(row["inputSchema"]["required"]) - set(value)
    return {**written, **(dict.fromkeys(missing) if provider == "openai" else {})}


def as_json_schema(schema: Any) -> Any:
    """Return a declaration as JSON Schema."""
    if isinstance(schema, list):
        return [as_json_schema(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    made = {key: as_json_schema(one) for key, one in schema.items() if key != "nullable"}
    if isinstance(schema.get("type"), str):
        made["type"] = schema["type"].lower()
    if "properties" in schema:
        made["additionalProperties"] = False
    return {"anyOf": [made, {"type": "null"}]} if schema.get("nullable") else made


def parameters(provider: Provider, row: dict[str, Any]) -> Any:
    """Return the schema that a provider holds a call against."""
    (definition,) = bind(provider, [BY_ID[row["operationId"]]])
    return as_json_schema(definition.get("parameters", {"type": "OBJECT", "properties": {}}))


def errors(schema: Any, value: Any) -> list[jsonschema.ValidationError]:
    """Return what a schema refuses."""
    return list(jsonschema.Draft202012Validator(schema).iter_errors(value))


@given(calls(), st.sampled_from(["openai", "codex", "gemini"]))
def test_an_input_that_fits_can_be_written_in_every_subset_and_reads_back_the_same(
    call: tuple[dict[str, Any], dict[str, Any]], provider: Provider
) -> None:
    row, value = call
    if errors(row["inputSchema"], value):
        return
    written = as_written(row, value, "openai" if provider == "codex" else provider)
    assert not errors(parameters(provider, row), written)
    found = read_arguments(provider, BY_ID[row["operationId"]], written)
    # A null says the same as nothing where both are allowed.
    needed, shapes = row["inputSchema"]["required"], row["inputSchema"]["properties"]
    assert found == {
        name: one
        for name, one in value.items()
        if one is not None or name in needed or not shapes[name]
    }


@given(calls(), st.sampled_from(["openai", "gemini"]))
def test_a_subset_lets_nothing_through_but_what_it_has_no_words_for(
    call: tuple[dict[str, Any], dict[str, Any]], provider: Provider
) -> None:
    row, value = call
    optional = set(row["inputSchema"]["properties"]) - set(row["inputSchema"]["required"])
    refused = errors(row["inputSchema"], value)
    if not refused or any(value.get(name, 0) is None for name in optional):
        return
    if not errors(parameters(provider, row), as_written(row, value, provider)):
        leaves = [leaf for one in refused for leaf in (one.context or [one])]
        lost = {"minLength"} if provider == "openai" else set()
        assert all(
            leaf.validator in lost | {"type"} and (leaf.validator in lost or _is_open(row, leaf))
            for leaf in leaves
            if leaf.validator_value != "null"
        )


def _is_open(row: dict[str, Any], error: jsonschema.ValidationError) -> bool:
    name = str(error.absolute_path[0])
    return bool(row["inputSchema"]["properties"][name].get("type") == "object")


@pytest.mark.parametrize("provider", ["anthropic", "mcp", "fake"])
def test_arguments_in_json_schema_are_taken_as_they_are(provider: Provider) -> None:
    value: Any = {"payload": '{"a": 1}', "title": None}
    assert read_arguments(provider, BY_ID["request_human_input"], value) == value


def test_text_that_is_no_json_is_refused_with_every_place() -> None:
    tool = BY_ID["generic_api_request"]
    value: Any = {"method": "M", "path": "/p", "headers": "{", "body": {"a": 1}, "more": 1}
    with pytest.raises(ValueError, match=r"headers: is not JSON text.*; body: must be JSON text"):
        read_arguments("openai", tool, value)
    value |= {"headers": '{"a": "b"}', "body": "null"}
    assert read_arguments("openai", tool, value) == {
        "method": "M", "path": "/p", "headers": {"a": "b"}, "body": None, "more": 1,
    }  # fmt: skip


@given(st.data(), st.sampled_from(TOOLS), st.sampled_from(["openai", "gemini"]))
def test_arguments_of_any_shape_are_read_or_refused_by_place(
    data: st.DataObject, row: dict[str, Any], provider: Provider
) -> None:
    shapes, needed = row["inputSchema"]["properties"], row["inputSchema"]["required"]
    names = st.sampled_from([*shapes, "other"])
    value = data.draw(JSON | st.dictionaries(names, JSON, max_size=4))
    try:
        found: Any = read_arguments(provider, BY_ID[row["operationId"]], cast("Any", value))
    except ValueError as error:
        assert str(error).split(":")[0] in ("payload", "body", "headers")
        return
    if not isinstance(value, dict):
        assert found == value
        return
    assert list(found) == [
        name
        for name, one in value.items()
        if one is not None or name in needed or name not in shapes
    ]


def schemas(schema: Any) -> Iterator[dict[str, Any]]:
    """Yield a schema and every schema inside it."""
    yield schema
    inner = [*schema.get("properties", {}).values(), *schema.get("anyOf", schema.get("oneOf", []))]
    inner += [schema[key] for key in ("items", "additionalProperties") if key in schema]
    for one in inner:
        if isinstance(one, dict):
            yield from schemas(one)
