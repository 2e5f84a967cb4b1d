"""The catalog holds what its specification lists, field by field."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import jsonschema
import pytest
from attr import evolve
from attr.exceptions import FrozenInstanceError

from agentctl.catalog.descriptor import GROUPS, Descriptor, descriptor_data
from agentctl.catalog.tools import BY_ID, CATALOG, CLAIMS, CONTROL_PLANE_OWNED
from tests.catalog.specified import SPECIFIED

# Where the operations of the specification's own system answer; ours answer from the store.
FOREIGN = {"mapping"}
OURS = {"title", "description"}
SIZES = {
    "discovery": 4,
    "delegation_dependencies": 2,
    "governance": 4,
    "cases": 2,
    "workspace_runtime": 2,
    "routines": 2,
    "company_skills": 2,
    "secrets": 2,
    "portability_admin": 2,
    "test_escape_hatch": 1,
}


def by_id(one: Descriptor) -> str:
    """Return a test's name."""
    return one.operation_id


def test_the_tools_are_those_of_the_specification_in_its_order() -> None:
    assert [one.operation_id for one in CATALOG] == [
        one["operationId"] for one in SPECIFIED["tools"]
    ]


@pytest.mark.parametrize("one", CATALOG, ids=by_id)
def test_every_field_is_as_specified(one: Descriptor) -> None:
    (specified,) = [row for row in SPECIFIED["tools"] if row["operationId"] == one.operation_id]
    wanted = {key: value for key, value in specified.items() if key not in FOREIGN}
    wanted["outputSchema"] = SPECIFIED["outputSchema"]
    found = {key: value for key, value in descriptor_data(one).items() if key not in OURS}
    assert found == wanted
    assert list(one.input_schema.get("properties", {})) == list(  # type: ignore[arg-type]
        specified["inputSchema"]["properties"]
    )


def test_what_the_control_plane_owns_is_as_specified_and_no_tool() -> None:
    assert list(CONTROL_PLANE_OWNED) == SPECIFIED["controlPlaneOwned"]
    assert not set(CONTROL_PLANE_OWNED) & BY_ID.keys()
    live = {one["operationId"] for one in SPECIFIED["liveOnly"]}
    assert not live & BY_ID.keys()


def test_there_are_37_tools_14_for_everybody_and_23_in_10_groups() -> None:
    assert len(CATALOG) == len(BY_ID) == 37
    assert Counter(one.disposition for one in CATALOG) == {
        "always_agent_tool": 14,
        "optional_agent_tool": 23,
    }
    assert Counter(one.group for one in CATALOG if one.group) == SIZES
    assert list(SIZES) == list(GROUPS)
    assert {one.version for one in CATALOG} == {1}


def test_a_tool_has_a_group_and_a_claim_or_neither() -> None:
    for one in CATALOG:
        is_optional = one.disposition == "optional_agent_tool"
        assert (one.group is not None) == bool(one.required_claims) == is_optional
    assert len(CLAIMS) == 23


def test_a_tool_that_changes_something_needs_a_key() -> None:
    for one in CATALOG:
        reads = one.side_effect_class in ("read", "secret_read")
        assert one.idempotency == ("none" if reads else "required")


@pytest.mark.parametrize("one", CATALOG, ids=by_id)
def test_a_descriptor_names_no_transport_and_no_provider(one: Descriptor) -> None:
    texts = list(_texts(descriptor_data(one)))
    assert one.title in texts
    words = r"(?i)openai|codex|anthropic|claude|gemini|google|\bmcp\b|https?"
    for text in texts:
        assert not re.search(words, text), text
        assert not re.search(r"\b(?:GET|POST|PUT|PATCH|DELETE|HEAD)\b", text), text
        assert not re.search(r"(?:^|\s)/\w", text), text


@pytest.mark.parametrize("one", CATALOG, ids=by_id)
def test_a_descriptor_explains_itself_and_its_schemas_are_valid_and_closed(
    one: Descriptor,
) -> None:
    assert one.title[0].isupper()
    assert not one.title.endswith(".")
    assert one.description.endswith(".")
    for schema in (one.input_schema, one.output_schema):
        jsonschema.Draft202012Validator.check_schema(schema)
        assert schema["additionalProperties"] is False
    assert jsonschema.Draft202012Validator(one.input_schema).is_valid({"taskId": "other"}) is False


def test_titles_are_unique_and_so_are_descriptions() -> None:
    assert len({one.title for one in CATALOG}) == len(CATALOG)
    assert len({one.description for one in CATALOG}) == len(CATALOG)


def test_nothing_of_the_catalog_can_be_changed() -> None:
    one = BY_ID["write_document"]
    with pytest.raises(FrozenInstanceError):
        one.version = 2  # type: ignore[misc]
    with pytest.raises(TypeError):
        BY_ID["other"] = one  # type: ignore[index]
    one.input_schema["required"] = []
    one.output_schema.clear()
    assert one.input_schema["required"] == ["key", "title", "body", "baseRevisionId"]
    assert one.output_schema == SPECIFIED["outputSchema"]
    assert hash(one) == hash(evolve(one))


def _texts(value: Any) -> Any:
    if isinstance(value, dict):
        yield from value
        for one in value.values():
            yield from _texts(one)
    elif isinstance(value, list):
        for one in value:
            yield from _texts(one)
    elif isinstance(value, str):
        yield value
