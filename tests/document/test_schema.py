"""The JSON Schema of documents is one, and says what the parser does."""

from __future__ import annotations

from copy import deepcopy
from functools import cache
from typing import TYPE_CHECKING, Any, cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from agentctl.diagnostics import has_errors
from agentctl.engine.document.fields import document_name
from agentctl.engine.document.reader import read_document, read_values
from agentctl.engine.document.schema import document_schema
from agentctl.jsonvalue import canonical
from tests.document.reading import FILES, values, workflow_text
from tests.document.samples import declared, problems_in, sample, with_field

if TYPE_CHECKING:
    from pathlib import Path

    from attr import Attribute

    from agentctl.jsonvalue import JsonObject, JsonValue

WORKFLOWS = [one for one in FILES if b"kind: Workflow" in one.read_bytes()]
NAMES = st.sampled_from(
    ["kind", "tasks", "env", "file", "isolation", "container", "command", "loop", "foreach", "x"]
)
SCALARS: st.SearchStrategy[JsonValue] = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 300),
    st.sampled_from([0.5, 2**53 + 1, "", "x", "a b", "stop", "always", "container", "process"]),
    st.sampled_from(["mcp.call", "builtin.shell.exec", "extension.process", "builtin.assign"]),
)
# No round floats: to a JSON Schema they are integers, and the text that they are is lost.
ANYTHING: list[JsonValue] = [
    None, True, -1, 0, 1, 5, 65, 257, 5000, 90_000, 2**40, 2**53 + 1, 0.5, -0.5,
    "", "a", "a b", "5", "true", "process", [], ["a"], [None], [{}], ["a"] * 65, {}, {"a": 1},
    {"a": None}, {"a": {}},
]  # fmt: skip
VALUES: st.SearchStrategy[JsonValue] = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=5,
)


@cache
def validator() -> Draft202012Validator:
    """Return the checker of the schema."""
    return Draft202012Validator(document_schema())


def schema_accepts(value: JsonValue) -> bool:
    """Return what the schema says."""
    return validator().is_valid(value)


def parser_accepts(value: JsonObject) -> bool:
    """Return what the parser says, and check how it says it."""
    result = read_document(canonical(value).encode(), "mutated.yaml")
    assert (result.document is None) == has_errors(result.diagnostics)
    assert all(one.line and one.column for one in result.diagnostics)
    return result.document is not None


def places(value: JsonValue) -> list[tuple[JsonObject | list[JsonValue], str | int]]:
    """Return every key and position of a document with the container that it is in."""
    found: list[tuple[JsonObject | list[JsonValue], str | int]] = []
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            found += [(one, key) for key in one]
            waiting += one.values()
        elif isinstance(one, list):
            found += [(one, index) for index in range(len(one))]
            waiting += one
    return found


def mutate(data: st.DataObject, document: JsonObject) -> None:
    """Remove, replace or add something anywhere."""
    container, key = data.draw(st.sampled_from(places(document)))
    if isinstance(container, list):
        container[cast("int", key)] = data.draw(VALUES)
        return
    change = data.draw(st.sampled_from(["remove", "replace", "add"]))
    if change == "remove":
        del container[str(key)]
    elif change == "replace":
        container[str(key)] = data.draw(VALUES)
    else:
        container[data.draw(NAMES)] = data.draw(VALUES)


def test_the_schema_is_a_schema() -> None:
    Draft202012Validator.check_schema(document_schema())


def test_every_object_is_closed_and_every_field_says_what_it_means() -> None:
    definitions = cast("dict[str, JsonObject]", document_schema()["$defs"])
    assert {"Workflow", "Task", "Secret", "Budgets", "A2aPeer"} <= set(definitions)
    for made in definitions.values():
        assert made["additionalProperties"] is False
        assert made["description"]
        for one in cast("dict[str, JsonObject]", made["properties"]).values():
            assert one["description"]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_the_schema_accepts_every_example(path: Path) -> None:
    errors = [
        f"{one.json_path}: {one.message}"
        for one in validator().iter_errors(values(path.read_bytes()))
    ]
    assert errors == []


@pytest.mark.parametrize(
    ("cls", "one"),
    [
        pytest.param(cls, one, id=f"{cls.__name__}.{one.name}")
        for cls, one in declared()
        if cls.__name__ in cast("JsonObject", document_schema()["$defs"])
    ],
)
def test_schema_and_parser_agree_on_every_field(cls: type, one: Attribute[Any]) -> None:
    schema = document_schema() | {"$ref": f"#/$defs/{cls.__name__}"}
    alone = Draft202012Validator(schema)
    for value in (*ANYTHING, sample(one)):
        made = with_field(cls, one, value)
        assert alone.is_valid(made) == (problems_in(cls, made) == []), value
        del made[document_name(one)]
        assert alone.is_valid(made) == (problems_in(cls, made) == []), value


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_schema_and_parser_agree_on_mutated_examples(data: st.DataObject) -> None:
    path = data.draw(st.sampled_from(WORKFLOWS))
    document = deepcopy(values(path.read_bytes()))
    for _ in range(data.draw(st.integers(1, 3))):
        mutate(data, document)
    assert schema_accepts(document) == parser_accepts(document)


@pytest.mark.parametrize(
    "spec",
    [
        "agents: {a: {provider: f, model: m}}",
        "agents: {a: {provider: f, model: m, instructions: x, instructionsFile: y}}",
        "agents: {a: {provider: f, model: m, instructions: , instructionsFile: y}}",
        "agents: {a: {provider: f, instructions: x}}",
        "agents: {a: {provider: f, file: x}}",
        "agents: {a: {provider: f, file: x, format: claude}}",
        "agents: {a: {provider: f, file: x, format: cloud}}",
        "agents: {a: {provider: f, file: x, model: , instructions: y}}",
        "agents: {a: {provider: f, model: m, instructions: x, format: claude}}",
        "agents: {a: {provider: f, model: 5, instructions: true, maxTurns: 64}}",
        "agents: {a: {provider: f, model: m, instructions: x, maxTurns: 65}}",
        "agents: {a: {provider: f, model: m, instructions: x, usageLimit: {maxCostUsd: 0}}}",
        "agents: {a: {provider: f, model: m, instructions: x, maxTurns: '5'}}",
        "actions: {a: {kind: builtin.assign, command: x}}",
        "actions: {a: {kind: builtin.assign, isolation: process, args: []}}",
        "actions: {a: {kind: builtin.shell.exec, command: ''}}",
        "actions: {a: {kind: builtin.shell.exec, command: x, isolation: container}}",
        "actions: {a: {kind: builtin.shell.exec, command: x, container: {image: i}}}",
        "actions: {a: {kind: mcp.call, idempotency: keyed}}",
        "providers: {p: {kind: fake, credential: {env: A, file: b}}}",
        "providers: {p: {kind: fake, credential: {env: 5}}}",
        "providers: {p: {kind: fake, credential: {env: 'A B'}}}",
        "providers: {p: {kind: fake, headers: {x: {env: true}}}}",
        "runtime: {maxConcurrency: 65}",
        "runtime: {budgets: {maxTasks: 0}}",
        "policy:",
    ],
)
def test_schema_and_parser_agree_on_every_rule(spec: str) -> None:
    document, problems = read_values(workflow_text(f"  {spec}\n").encode(), "f")
    assert document is not None
    assert problems == []
    assert schema_accepts(document) == parser_accepts(document)
