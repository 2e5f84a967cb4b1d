"""One grant within another: rows of the shared vectors, and conversions of real files."""

from __future__ import annotations

from typing import Any

import pytest

from agentctl.agentfiles.agent import read_agent
from agentctl.agentfiles.changes import changes
from agentctl.agentfiles.check import check_no_widening
from agentctl.agentfiles.model import FORMATS, Format, Grant
from agentctl.agentfiles.powers import whole
from agentctl.agentfiles.reading import read_grants
from agentctl.agentfiles.rendering import render_agent
from agentctl.errors import WideningRefused
from tests.agentfiles.vectors import document, name, rows

NAMES: dict[str, Format] = {"claude": "claude", "copilot-vscode": "copilot", "goose": "goose"}


def grant(lower: list[str], upper: list[str] | str) -> Grant:
    """Return a grant with two bounds."""
    return Grant(
        format="claude",
        state="listed",
        powers_lower=whole(lower),
        powers_upper="all" if upper == "all" else whole(upper),
    )


def of_scopes(scopes: list[str] | None) -> Grant:
    """Return an exact grant, or one that is not known."""
    if scopes is None:
        return Grant(format="claude", state="inherits", powers_upper="all")
    return grant(scopes, scopes)


@pytest.mark.parametrize("row", rows("interop_grant_check(no-widening)"), ids=name)
def test_scopes_are_compared(row: dict[str, Any]) -> None:
    (given,) = row["args"]
    verdict = check_no_widening(
        of_scopes(given["source_scopes"]), of_scopes(given["target_scopes"])
    )
    widened = "unknown" if verdict.widened is None else list(verdict.widened)
    assert {
        "verdict": verdict.outcome, "widened": widened, "dropped": list(verdict.dropped)
    } == row["result"]  # fmt: skip


@pytest.mark.parametrize("row", rows("interop_grant_check(bounds)"), ids=name)
def test_the_upper_bound_of_the_target_is_held_against_the_lower_one_of_the_source(
    row: dict[str, Any],
) -> None:
    (given,) = row["args"]
    verdict = check_no_widening(grant(**given["source"]), grant(**given["target"]))
    # These rows ask about widening alone.
    outcome = "ok" if verdict.is_within else verdict.outcome
    widened = "unknown" if verdict.widened is None else list(verdict.widened)
    assert {"verdict": outcome, "widened": widened} == row["result"]


@pytest.mark.parametrize("row", rows("interop.run_interop(one agent)"), ids=name)
def test_a_hard_conversion_is_refused_or_does_not_widen(row: dict[str, Any]) -> None:
    source, text, target = row["args"]
    agent = read_agent(text, NAMES[source])
    try:
        written, verdict = render_agent(agent, NAMES[target])
    except WideningRefused as refused:
        assert refused.message
        return
    assert verdict.is_within
    granted = read_grants(written, NAMES[target])
    assert granted.scopes_upper != "all"
    truth = set(row["source_truth"] or ())
    if "Bash(" in text:
        # The host grants the whole shell; some rows leave it out.
        truth.add("execute")
    assert set(granted.scopes_upper) <= truth


@pytest.mark.parametrize("row", document()["real_agents"], ids=name)
def test_a_real_file_goes_to_every_format_and_back_without_widening(row: dict[str, Any]) -> None:
    own = NAMES[row["framework"]]
    agent = read_agent(row["front_matter"], own)
    for format in FORMATS:
        try:
            there, _ = render_agent(agent, format)
            back, _ = render_agent(read_agent(there, format), own)
        except WideningRefused:
            continue
        assert check_no_widening(agent.grant, read_grants(back, own)).is_within


@pytest.mark.parametrize("row", document()["real_agents"], ids=name)
def test_a_conversion_of_a_real_file_tells_each_change_once_with_its_place(
    row: dict[str, Any],
) -> None:
    agent = read_agent(row["front_matter"], NAMES[row["framework"]])
    lines = row["front_matter"].splitlines()
    for format in FORMATS:
        try:
            written, verdict = render_agent(agent, format)
        except WideningRefused:
            continue
        found = changes(agent.grant, read_grants(written, format))
        assert {one.effect for one in found} <= {"drops", "narrows"}
        assert found or verdict.outcome == "ok"
        assert len({(one.line, one.column) for one in found}) == len(found)
        for one in found:
            assert one.name in lines[one.line - 1][one.column - 1 :]


@pytest.mark.parametrize(
    ("tools", "format", "expected"),
    [
        ("Read, Grep, Glob", "copilot", 'tools: ["read", "search"]'),
        ("Read, Grep", "copilot", 'tools: ["read", "search/textSearch"]'),
        ("Edit", "copilot", 'tools: ["edit/editFiles"]'),
        ("Edit, Write", "copilot", 'tools: ["edit"]'),
        ("Agent(a, b)", "copilot", 'agents: ["a", "b"]'),
        ("mcp__github__get_issue", "copilot", 'tools: ["github/get_issue"]'),
        ("Edit", "goose", "available_tools: [edit]"),
        ("Edit", "opencode", '  "*": deny\n---'),
        ("Edit, Write", "opencode", "  edit: allow"),
        ("Grep", "gemini", 'tools: ["grep_search"]'),
        ("Read, Grep, Glob", "cursor", "readonly: true"),
        ("Read, Grep, Glob, Bash", "codex", 'sandbox_mode = "read-only"'),
        ("Read, Edit, Write, Grep, Glob, Bash", "codex", 'sandbox_mode = "workspace-write"'),
    ],
)
def test_a_grant_is_written_as_near_as_the_format_can(
    tools: str, format: Format, expected: str
) -> None:
    agent = read_agent(f"---\nname: a\ndescription: d\ntools: {tools}\n---\nBody.\n", "claude")
    assert expected in render_agent(agent, format)[0]


@pytest.mark.parametrize(
    ("source", "own", "format", "message"),
    [
        ("tools: Read", "claude", "cursor", "cursor grants reading and searching at least"),
        ("tools: Read", "claude", "agents-md", "agents-md has no place for tools"),
        ("tools: WebFetch", "claude", "codex", "codex grants reading, searching and running"),
        ("tools: []", "copilot", "claude", "claude has no way to say that an agent has no tools"),
        ("name: a", "claude", "copilot", "what the source grants cannot be told"),
    ],
)
def test_a_format_that_cannot_say_it_refuses(
    source: str, own: Format, format: Format, message: str
) -> None:
    agent = read_agent(f"---\n{source}\n---\n", own)
    with pytest.raises(WideningRefused, match=message):
        render_agent(agent, format)


@pytest.mark.parametrize(
    ("source", "own", "target", "other", "widened"),
    [
        ("tools: Edit", "claude", "tools: Edit, Write", "claude", "edit.create"),
        ("tools: Grep", "claude", "tools: ['search']", "copilot", "search.files"),
        ("tools: Agent(a)", "claude", "tools: Agent(a, b)", "claude", "agents:b"),
        ("tools: Agent(a)", "claude", "tools: Agent", "claude", "agents:*"),
        ("tools: mcp__x__y", "claude", "tools: mcp__x", "claude", "mcp:x/*"),
        ("tools: WebFetch", "claude", "tools: WebFetch, WebSearch", "claude", "web.search"),
        ("tools: Frob", "claude", "tools: ['Frob']", "copilot", "unknown:Frob"),
        (
            "permission: {'*': deny, bash: ask}",
            "opencode",
            "permission: {'*': deny, bash: allow}",
            "opencode",
            "without asks:bash",
        ),
        ("tools: LSP", "claude", "tools: Read", "claude", "read.file"),
    ],
)
def test_what_is_wider_below_a_scope_is_found(
    source: str, own: Format, target: str, other: Format, widened: str
) -> None:
    verdict = check_no_widening(
        read_grants(f"---\n{source}\n---\n", own), read_grants(f"---\n{target}\n---\n", other)
    )
    assert verdict.outcome == "widened"
    assert verdict.widened == (widened,)


def test_a_server_that_is_denied_in_part_is_not_granted_whole() -> None:
    head = "tools: Read, mcp__x\nmcpServers: {y: {command: z}}\ndisallowedTools: mcp__x__a, mcp__y"
    agent = read_agent(f"---\n{head}\n---\n", "claude")
    for format in ("claude", "copilot", "gemini"):
        text, _ = render_agent(agent, format)
        assert read_grants(text, format).extras == ()
    wider = read_grants("---\ntools: Read, mcp__x\n---\n", "claude")
    assert check_no_widening(agent.grant, wider).widened == ("without minus:mcp__x__a",)


def test_a_tool_that_is_denied_in_part_is_not_surely_granted() -> None:
    head = "tools: Read, Bash\ndisallowedTools: Bash(rm:*)"
    granted = read_grants(f"---\n{head}\n---\n", "claude")
    assert (granted.scopes_lower, granted.scopes_upper) == (("read",), ("read", "execute"))


def test_two_extensions_of_one_name_grant_nothing_for_sure() -> None:
    entry = "{type: builtin, name: developer, available_tools: [write]}"
    granted = read_grants(f"title: t\nextensions: [{entry}, {entry}]\n", "goose")
    assert (granted.scopes_lower, granted.scopes_upper) == ((), "all")


def test_a_pattern_of_actions_denies_what_it_fits() -> None:
    rules = "{'*': allow, 'bas?': deny, 'w*': deny, edit: {'**': deny}}"
    granted = read_grants(f"---\npermission: {rules}\n---\n", "opencode")
    assert granted.scopes_lower == ("read", "search", "todo", "agent")
    given = {one.text for one in granted.tokens if not one.is_denied}
    assert not given & {"bash", "edit", "webfetch", "websearch"}


def test_the_sandbox_of_a_shell_may_not_get_lost() -> None:
    text = 'name = "a"\ndescription = "d"\ndeveloper_instructions = "x"\n'
    source = read_grants(f'{text}sandbox_mode = "read-only"\n', "codex")
    target = read_grants("---\ntools: Read, Bash\n---\n", "claude")
    verdict = check_no_widening(source, target)
    assert verdict.widened == ("without no-write", "without no-network")
