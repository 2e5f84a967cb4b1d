"""Every class, every field and every bound of the model, from its declarations."""

from __future__ import annotations

from math import nextafter
from typing import TYPE_CHECKING, Any, Literal, get_origin

import pytest
from attr import NOTHING, fields, has

from agentctl.engine.document.effect_model import Container
from agentctl.engine.document.fields import BOUNDS, document_name
from agentctl.text.core_schema import EXACT_INTEGER_MAX
from tests.document.samples import (
    RULED,
    classes,
    declared,
    inner_type,
    problems_in,
    sample,
    smallest,
    with_field,
)

if TYPE_CHECKING:
    from attr import Attribute

    from agentctl.jsonvalue import JsonValue

CLASSES = classes()
FIELDS = [pytest.param(cls, one, id=f"{cls.__name__}.{one.name}") for cls, one in declared()]
REQUIRED = [(cls, one) for cls, one in declared() if one.default is NOTHING]


def wrong_for(hint: Any) -> list[JsonValue]:
    """Return values of every kind that a type does not take."""
    hint = inner_type(hint)
    if hint is Any:
        return []
    if get_origin(hint) is dict or has(hint):
        return ["x", 5, ["x"]]
    if get_origin(hint) is list:
        return ["x", 5, {"x": 1}]
    if get_origin(hint) is Literal:
        return ["no such word", {}, []]
    by_type: dict[object, list[JsonValue]] = {
        str: [{}, []],
        bool: ["true", "yes", 1, {}, []],
        int: ["1", 1.5, True, EXACT_INTEGER_MAX + 1, -(10**300), {}, []],
        float: ["1", True, EXACT_INTEGER_MAX + 1, {}, []],
    }
    return by_type[hint]


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_the_required_fields_are_enough(cls: type) -> None:
    assert problems_in(cls, smallest(cls)) == []


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_what_is_no_object_is_refused_with_the_names_of_its_fields(cls: type) -> None:
    first = document_name(fields(cls)[0])
    values: tuple[JsonValue, ...] = ("x", 5, None, ["x"])
    for value in values:
        (problem,) = problems_in(cls, value)
        assert f"expected an object ({first}" in problem.message


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_an_unknown_field_is_refused_with_the_nearest_name(cls: type) -> None:
    value = smallest(cls)
    name = document_name(fields(cls)[-1])
    (problem,) = problems_in(cls, value | {name + "x": 1})
    assert (problem.path, problem.message) == (f"{name}x", f"unknown field '{name}x'")
    assert f"'{name}'" in str(problem.help)


@pytest.mark.parametrize(("cls", "one"), REQUIRED)
def test_a_missing_field_is_named_once(cls: type, one: Attribute[Any]) -> None:
    name = document_name(one)
    value = smallest(cls)
    del value[name]
    (problem,) = problems_in(cls, value)
    assert (problem.path, problem.message) == (name, f"{name} is missing")


@pytest.mark.parametrize(("cls", "one"), FIELDS)
def test_a_field_takes_its_own_type_and_no_other(cls: type, one: Attribute[Any]) -> None:
    name = document_name(one)
    assert problems_in(cls, with_field(cls, one, sample(one))) == []
    for value in wrong_for(one.type):
        (problem,) = problems_in(cls, with_field(cls, one, value))
        assert problem.path == name, value


@pytest.mark.parametrize(("cls", "one"), FIELDS)
def test_only_a_field_with_a_default_may_be_blank(cls: type, one: Attribute[Any]) -> None:
    name = document_name(one)
    if RULED.get(cls, {}).get(name):
        return  # Another of its kind would be missing.
    value = smallest(cls) | {name: None}
    refused = one.default is NOTHING and (one.type is not Any or "type" in one.metadata[BOUNDS])
    assert len(problems_in(cls, value)) == (1 if refused else 0)


def step(bound: float, kind: object, direction: int) -> float:
    """Return the nearest value on one side of a bound."""
    return bound + direction if kind is int else nextafter(bound, direction * 1e9)


@pytest.mark.parametrize(("cls", "one"), FIELDS)
def test_a_bound_is_inside_and_the_next_value_outside(cls: type, one: Attribute[Any]) -> None:
    bounds, kind = one.metadata[BOUNDS], inner_type(one.type)
    inside: list[JsonValue] = []
    outside: list[JsonValue] = []
    for name, bound in bounds.items():
        if name in ("minimum", "maximum"):
            inside.append(bound)
            outside.append(step(bound, kind, 1 if name == "maximum" else -1))
        elif name == "exclusiveMinimum":
            inside.append(step(bound, kind, 1))
            outside.append(bound)
        elif name == "maxItems":
            inside.append(["a"] * bound)
            outside.append(["a"] * (bound + 1))
        elif name in ("minItems", "minLength"):
            outside.append([] if name == "minItems" else "")
        elif name == "pattern":
            outside += ["", "a b", "é", f"{sample(one)}\n", 1.5]
        else:
            assert name == "type"
            inside += [{}, True, False]
            outside += [5, "{}", [], 1.5]
    for value in inside:
        assert problems_in(cls, with_field(cls, one, value)) == []
    for value in outside:
        (problem,) = problems_in(cls, with_field(cls, one, value))
        assert problem.path == document_name(one), value
        assert problem.code == ("invalid_schema" if "type" in bounds else "schema_violation")


def test_the_table_holds_every_part_of_a_document() -> None:
    assert len(CLASSES) > 35
    assert Container in CLASSES
