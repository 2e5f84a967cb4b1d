"""The page about the tools counts and lists what the catalog holds."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, get_args

import pytest

from agentctl.catalog.bindings import PROVIDERS
from agentctl.catalog.descriptor import GROUPS, TASK_MODES
from agentctl.catalog.exposure import GRANTING, REFUSING, DenialCode
from agentctl.catalog.tools import CATALOG, CONTROL_PLANE_OWNED
from tests.cli.harness import ROOT

if TYPE_CHECKING:
    from agentctl.catalog.descriptor import Descriptor

PAGE = (ROOT / "docs" / "tools.md").read_text(encoding="utf-8")
# The page wraps its lines; a sentence is found without them.
FLOWING = " ".join(PAGE.split())
ALWAYS = [one for one in CATALOG if one.group is None]
OPTIONAL = [one for one in CATALOG if one.group is not None]


def section(title: str) -> str:
    """Return the text below a heading, up to the next one."""
    (found,) = re.findall(rf"^#+ {title}\n(.*?)(?=^#|\Z)", PAGE, re.MULTILINE | re.DOTALL)
    return str(found)


def rows(title: str) -> list[list[str]]:
    """Return the rows of the table in a section, without its head."""
    lines = [line for line in section(title).splitlines() if line.startswith("| ")]
    return [[cell.strip(" `") for cell in line.strip("|").split("|")] for line in lines[2:]]


def modes(tool: Descriptor) -> str:
    """Return a tool's modes as the page writes them."""
    return "all" if tool.task_modes == TASK_MODES else ", ".join(tool.task_modes)


def test_the_counts_are_those_of_the_catalog() -> None:
    counted = (
        f"There are {len(CATALOG)} tools, all of version 1: {len(ALWAYS)} that every agent has, "
        f"and {len(OPTIONAL)} in {len(GROUPS)} groups that are granted."
    )
    assert counted in FLOWING
    assert {one.version for one in CATALOG} == {1}
    assert f"does these {len(CONTROL_PLANE_OWNED)} itself" in FLOWING


def test_the_tools_for_every_agent_are_listed_in_order() -> None:
    assert rows("For every agent") == [
        [one.operation_id, modes(one), one.side_effect_class] for one in ALWAYS
    ]


def test_the_optional_tools_are_listed_in_order() -> None:
    assert rows("By group and claim") == [
        [
            one.operation_id,
            one.group,
            ", ".join(one.required_claims),
            modes(one),
            ", ".join(one.allowed_roles or ("all",)),
            one.side_effect_class,
        ]
        for one in OPTIONAL
    ]


def test_the_groups_have_the_sizes_that_the_page_gives() -> None:
    given = re.findall(r"`(\w+)`\s\((\d+)\)", section("By group and claim"))
    sizes = {name: sum(one.group == name for one in CATALOG) for name in GROUPS}
    assert {name: int(size) for name, size in given} == sizes


def test_what_is_never_a_tool_is_listed_in_order() -> None:
    assert tuple(re.findall(r"`(\w+)`", section("Never a tool"))) == CONTROL_PLANE_OWNED


def test_every_reason_to_leave_a_tool_out_is_explained_in_the_order_of_the_rules() -> None:
    text = section("Who sees a tool")
    assert [row[0] for row in rows("Who sees a tool")] == list(REFUSING)
    assert all(f"`{name}`" in text for name in (*GRANTING, *get_args(DenialCode)))


def test_every_provider_has_its_row() -> None:
    named = [
        name for row in rows("What a provider is told") for name in re.findall(r"\w+", row[0])
    ]
    assert named == list(PROVIDERS)


def test_the_tools_that_say_nothing_about_a_change_are_those_the_page_names() -> None:
    silent = [
        one.operation_id
        for one in CATALOG
        if one.idempotency == "required" and not one.input_schema["properties"]
    ]
    told = ", ".join(f"`{one}`" for one in silent[:-1]) + f" and `{silent[-1]}`"
    assert f"In it {told} take no input" in FLOWING


@pytest.mark.parametrize("one", [one for one in CATALOG if one.redaction], ids=str)
def test_every_redaction_is_told(one: Descriptor) -> None:
    assert f"`{one.operation_id}`" in FLOWING
    for rule in one.redaction:
        assert f"`{rule.replacement}`" in FLOWING
        assert rule.path.rpartition(".")[2] in FLOWING
