"""Variables: precedence, origins, reserved names, files, and what explain tells."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentctl.diagnostics import Diagnostic
from agentctl.engine.values.capture import (
    CapturedSources,
    SourceReference,
    capture,
    owner_references,
    read_variables,
)
from agentctl.engine.values.explain import explain_layers
from agentctl.engine.values.layers import (
    Layer,
    Owner,
    check_binding,
    check_names,
    invocation_layers,
    merge_layers,
    owner_layers,
)
from agentctl.engine.values.overrides import parse_input, parse_var, parse_vars
from agentctl.errors import DocumentError, UsageError
from agentctl.jsonvalue import canonical, parse_json

if TYPE_CHECKING:
    from agentctl.jsonvalue import JsonObject, JsonValue

FILE = "workflow.yaml"


def read_json(raw: bytes, file: str) -> JsonValue:
    """Read JSON as the document reader would."""
    try:
        return parse_json(raw)
    except ValueError as error:
        problem = Diagnostic(code="yaml_syntax", message=str(error), file=file)
        raise DocumentError([problem]) from None


def analyze_layers() -> list[Layer]:
    spec = Owner(
        origin="spec",
        place="spec",
        files=("defaults.yaml", "later.json"),
        values={"winner": "workflow", "object": {"inline": True}},
    )
    task = Owner(
        origin="spec.tasks.analyze",
        place="spec.tasks[0]",
        files=("task.yaml",),
        values={"winner": "task"},
    )
    contents: dict[str, JsonObject] = {
        "spec.varsFiles[0]": {"winner": "file", "object": {"old": True}, "nullable": "old"},
        "spec.varsFiles[1]": {"winner": "later", "nullable": None},
        "spec.tasks[0].varsFiles[0]": {"winner": "task-file"},
    }
    overrides = parse_vars(['winner="first"', 'winner="invocation"'])
    invocation = invocation_layers([("prod.yaml", {"extra": 1})], overrides)
    return [*owner_layers(spec, contents), *owner_layers(task, contents), *invocation]


def test_higher_layers_replace_whole_names() -> None:
    values, origins = merge_layers(analyze_layers())
    assert values == {
        "winner": "invocation",
        "object": {"inline": True},
        "nullable": None,
        "extra": 1,
    }
    assert origins == {
        "winner": "invocation:--var",
        "object": "spec.vars",
        "nullable": "spec.varsFiles[1]:later.json",
        "extra": "invocation:--vars-file[0]:prod.yaml",
    }


def test_explain_names_layers_and_winners_but_no_values() -> None:
    explained = explain_layers("spec.tasks.analyze", analyze_layers())
    assert [one["origin"] for one in _objects(explained["layers"])] == [
        "spec.varsFiles[0]:defaults.yaml",
        "spec.varsFiles[1]:later.json",
        "spec.vars",
        "spec.tasks.analyze.varsFiles[0]:task.yaml",
        "spec.tasks.analyze.vars",
        "invocation:--vars-file[0]:prod.yaml",
        "invocation:--var",
    ]
    nullable = next(one for one in _objects(explained["values"]) if one["name"] == "nullable")
    assert nullable == {
        "name": "nullable",
        "origin": "spec.varsFiles[1]:later.json",
        "overrides": ["spec.varsFiles[0]:defaults.yaml"],
    }
    assert "inline" not in canonical(explained)


def test_an_owner_without_own_variables_has_no_layer_for_them() -> None:
    assert owner_layers(Owner(origin="spec", place="spec"), {}) == []
    assert invocation_layers([], []) == []


def test_reserved_names_are_refused_with_their_place() -> None:
    found = check_names(["matrix", "mine", "loopIndex"], file=FILE, place="spec.tasks[1].vars")
    assert [(one.code, one.path) for one in found] == [
        ("reserved_name", "spec.tasks[1].vars.matrix"),
        ("reserved_name", "spec.tasks[1].vars.loopIndex"),
    ]


@pytest.mark.parametrize(("name", "bad"), [("item", False), ("region", True), ("matrix", True)])
def test_a_binding_may_not_hide_a_variable(name: str, bad: bool) -> None:
    problem = check_binding(name, {"region"}, file=FILE, place="spec.tasks[0].foreach.as")
    assert (problem is not None) is bad


def test_captured_files_need_no_file_system() -> None:
    owner = Owner(origin="spec", place="spec", files=("a.json", "missing.json"))
    reader = CapturedSources({("", "a.json"): b'{"x": 1}'})
    captured, problems = capture(owner_references(owner), reader, file=FILE)
    assert captured == {"spec.varsFiles[0]": b'{"x": 1}'}
    assert [(one.code, one.path) for one in problems] == [("source_error", "spec.varsFiles[1]")]


def test_a_path_holds_no_template() -> None:
    reference = SourceReference(path="${{ inputs.env }}.yaml", place="spec.varsFiles[0]")
    captured, problems = capture([reference], CapturedSources(), file=FILE)
    assert captured == {}
    assert "template" in problems[0].message


@pytest.mark.parametrize(
    ("raw", "codes"),
    [
        (b'{"a": 1}', []),
        (b"[1]", ["source_error"]),
        (b"null", ["source_error"]),
        (b"{", ["yaml_syntax"]),
        (b'{"include": "x", "varsFiles": [], "includes": 1}', ["source_error"] * 3),
        (b'{"matrix": 1}', ["reserved_name"]),
    ],
)
def test_a_variable_file_holds_a_plain_object(raw: bytes, codes: list[str]) -> None:
    _, problems = read_variables(
        raw, name="vars.json", place="spec.varsFiles[0]", read_data=read_json, file=FILE
    )
    assert [one.code for one in problems] == codes


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("count=3", ("count", 3)),
        ("flag=false", ("flag", False)),
        ("mode=cancel", ("mode", "cancel")),
        ("path=/artifacts/report.txt", ("path", "/artifacts/report.txt")),
        ("equation=a=b", ("equation", "a=b")),
        ("empty=", ("empty", "")),
        ("draft=[draft] text", ("draft", "[draft] text")),
        ("n=NaN", ("n", "NaN")),
        ("n=1e999", ("n", "1e999")),
        ('quoted="3"', ("quoted", "3")),
    ],
)
def test_an_input_is_json_if_it_parses_else_text(
    text: str, expected: tuple[str, JsonValue]
) -> None:
    assert parse_input(text) == expected


@pytest.mark.parametrize(
    "text", ["novalue", "=1", "a b=1", "a.b=1", 'x={"a":1,"a":2}', 'x="\\ud800"', "x=\udcff"]
)
def test_a_malformed_override_is_a_usage_error(text: str) -> None:
    with pytest.raises(UsageError):
        parse_input(text)
    with pytest.raises(UsageError):
        parse_var(text)


def test_a_variable_override_must_be_json_and_says_how_to_quote() -> None:
    with pytest.raises(UsageError) as caught:
        parse_var("region=north")
    assert caught.value.help is not None
    assert "'region=\"text\"'" in caught.value.help
    assert "north" not in caught.value.message


def test_a_variable_override_of_a_reserved_name_is_refused() -> None:
    with pytest.raises(UsageError, match="reserved"):
        parse_var("loopIndex=1")


@given(st.text())
def test_overrides_raise_nothing_but_usage_errors(text: str) -> None:
    for parse in (parse_input, parse_var):
        try:
            name, value = parse(text)
        except UsageError:
            continue
        assert text.startswith(f"{name}=")
        assert canonical(value).encode("utf-8")


def _objects(value: JsonValue) -> list[JsonObject]:
    assert isinstance(value, list)
    return [one for one in value if isinstance(one, dict)]
