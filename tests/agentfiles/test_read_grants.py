"""What agent files grant, row by row of the shared vectors."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentctl.agentfiles.reading import read_grants
from tests.agentfiles.vectors import document, name, rows

HEADS = {
    "claude": "---\ntools: {}\n---\n",
    "copilot": "---\ntools: [{}]\n---\n",
    "gemini": "---\nname: a\ndescription: d\ntools: [{}]\n---\n",
    "factory": "---\ntools: [{}]\n---\n",
}
# Names whose row says another thing on purpose.
OTHERWISE = {"*", "Agent(reviewer, tester)"}


@pytest.mark.parametrize("row", rows("agentctl.read_grants"), ids=name)
def test_a_file_grants_what_its_host_gives(row: dict[str, Any]) -> None:
    format, text = row["args"]
    grant = read_grants(text, format)
    expected = row["result"]
    assert (grant.state, list(grant.scopes_lower), sorted(grant.extras)) == (
        expected["state"],
        expected["scopes"],
        sorted(expected["extras"]),
    )


def recipe(entries: list[dict[str, Any]] | None) -> str:
    """Return a recipe with these extensions."""
    kept = ("name", "type", "cmd", "args", "available_tools")
    listed = [
        {key: one[key] for key in kept if one.get(key) is not None and one["name"] != "<unparsed>"}
        for one in entries or []
    ]
    head = 'version: "1.0.0"\ntitle: t\ndescription: d\ninstructions: x\n'
    return head if entries is None else f"{head}extensions: {json.dumps(listed)}\n"


@pytest.mark.parametrize("row", rows("capability_map.goose_grants_to_canonical"), ids=name)
def test_extensions_are_read_to_two_bounds(row: dict[str, Any]) -> None:
    grant = read_grants(recipe(row["args"][0]), "goose")
    expected = row["bounds_expected"]
    upper = grant.scopes_upper
    assert list(grant.scopes_lower) == expected["lower"]
    assert (upper if upper == "all" else list(upper)) == expected["upper"]
    assert [one for one in grant.extras if one != "all"] == expected["extras"]
    assert [one.message for one in grant.problems] == row["problems_expected"]


def names() -> list[dict[str, Any]]:
    """Return the known names of the hosts that list names."""
    found = document()["tool_names"]
    return [
        one
        for one in found
        if one["format"] in HEADS
        and one["token"] not in OTHERWISE
        and not (one["format"] == "factory" and one.get("note") == "category")
    ]


@pytest.mark.parametrize("one", names(), ids=lambda one: f"{one['format']}/{one['token']}")
def test_a_name_stands_for_what_its_host_says(one: dict[str, Any]) -> None:
    written = one["token"] if one["format"] == "claude" else json.dumps(one["token"])
    grant = read_grants(HEADS[one["format"]].format(written), one["format"])
    assert grant.state == "listed"
    assert list(grant.scopes_lower) == one["scopes"]
    extras = [extra for extra in grant.extras if not extra.startswith("narrowing-not-enforced:")]
    assert extras == one["extra"]


@pytest.mark.parametrize(
    ("written", "place"),
    [
        ("Read, Frob", (3, 14)),
        ('"Read, Frob"', (3, 15)),
        ("[Read, Frob]", (3, 15)),
        ("\n  - Read\n  - Frob", (5, 5)),
        (">\n  Read,\n  Frob", (5, 3)),
    ],
)
def test_an_unknown_name_is_reported_where_it_stands(written: str, place: tuple[int, int]) -> None:
    grant = read_grants(f"---\nname: a\ntools: {written}\n---\n", "claude")
    (problem,) = grant.problems
    assert (problem.code, problem.line, problem.column) == ("unknown_tool", *place)
    assert "Frob" in problem.message
    assert [(one.text, one.is_known) for one in grant.tokens] == [("Read", True), ("Frob", False)]


def test_a_near_name_is_offered() -> None:
    (problem,) = read_grants("---\ntools: read\n---\n", "claude").problems
    assert problem.help == "did you mean 'Read'?"


def test_an_unknown_key_is_reported_since_the_tools_may_hide_in_it() -> None:
    grant = read_grants("---\nname: a\ntool: Read\n---\n", "claude")
    assert grant.state == "inherits"
    strange, inherits = grant.problems
    assert (strange.code, strange.line, strange.help) == (
        "unknown_key",
        3,
        "did you mean 'tools'?",
    )
    assert inherits.code == "inherits"


@pytest.mark.parametrize(
    ("head", "message"),
    [
        ("tools: &a [Read]", "the anchor &a is not read here"),
        ("x: Read\ntools: *x", "the alias *x is not read here"),
        ("tools: !!seq [Read]", "the tag 'tag:yaml.org,2002:seq' is not allowed"),
        ("<<: {tools: Read}", "merge keys are not YAML 1.2"),
        ("tools: Read\ntools: Bash", "duplicate key 'tools'; it stands in line 2 too"),
        ("tools: {Read: true}", "tools is neither a list nor a comma text"),
        ("tools: 7", "tools is neither a list nor a comma text"),
        ("tools: [Read, [Bash]]", "tools is neither a list nor a comma text"),
        ("tools: [Read", "while parsing a flow sequence"),
    ],
)
def test_what_readers_may_take_in_two_ways_is_unreadable(head: str, message: str) -> None:
    grant = read_grants(f"---\n{head}\n---\n", "claude")
    assert (grant.state, grant.scopes_lower, grant.scopes_upper) == ("unreadable", (), "all")
    assert grant.problems[-1].message.startswith(message)


def test_a_line_break_of_another_yaml_version_adds_no_key() -> None:
    text = "---\n# a note\u2028tools: Bash\ntools: Read\n---\n"
    assert read_grants(text, "claude").scopes_lower == ("read",)


def test_a_denied_alias_is_taken_from_the_lower_bound_alone() -> None:
    grant = read_grants("---\ntools: Read, Task\ndisallowedTools: Agent\n---\n", "claude")
    assert (grant.scopes_lower, grant.scopes_upper) == (("read",), ("read", "agent"))


def test_an_allow_rule_of_opencode_leaves_the_tools_of_servers_open() -> None:
    closed = '---\npermission: {"*": deny, read: allow}\n---\n'
    grant = read_grants(closed, "opencode")
    assert (grant.scopes_lower, grant.scopes_upper) == (("read",), ("read",))
    assert read_grants("---\npermission: {bash: deny}\n---\n", "opencode").is_open


@pytest.mark.parametrize(
    ("head", "scopes", "limits"),
    [
        ("permission: {'*': deny, bash: ask}", ("execute",), ("asks:bash",)),
        (
            "permission: {'*': deny, bash: {'git *': allow}}",
            ("execute",),
            ("pattern:bash git *",),
        ),
        (
            "permission: {'*': deny, edit: {'*': allow, 'src/*': deny}}",
            ("edit",),
            ("pattern:edit !src/*",),
        ),
        (
            "permissions:\n- {action: '*', effect: deny}\n- {action: shell, effect: allow}",
            ("execute",),
            (),
        ),
    ],
)
def test_rules_of_opencode_keep_their_limits(
    head: str, scopes: tuple[str, ...], limits: tuple[str, ...]
) -> None:
    grant = read_grants(f"---\n{head}\n---\n", "opencode")
    assert (grant.scopes_lower, grant.limits) == (scopes, limits)


def test_a_codex_table_is_placed_outside_of_strings() -> None:
    text = (
        'name = "a"\ndescription = "d"\ndeveloper_instructions = """\n'
        'sandbox_mode = "x"\n"""\nsandbox_mode = "read-only"\n'
    )
    grant = read_grants(text, "codex")
    assert [(one.text, one.line) for one in grant.tokens] == [("read-only", 6)]
    assert grant.limits == ("no-write", "no-network")
