"""What holds for every agent file, tried on many."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from agentctl.agentfiles.agent import read_agent
from agentctl.agentfiles.check import check_no_widening
from agentctl.agentfiles.model import FORMATS, Format, Grant
from agentctl.agentfiles.quoting import quoted
from agentctl.agentfiles.reading import read_grants
from agentctl.agentfiles.rendering import render_agent, render_grants
from agentctl.errors import WideningRefused
from agentctl.text import yaml_text
from tests.agentfiles.vectors import document, rows
from tests.cli.harness import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

MANY = settings(max_examples=2000)
TEXTS = st.text(max_size=40)
EXAMPLES = [tuple(row["args"]) for row in rows("agentctl.read_grants")]
NAMES = sorted({one["token"] for one in document()["tool_names"]})
LISTED = st.lists(st.sampled_from(NAMES) | st.text(max_size=8), max_size=6)
FORMAT = st.sampled_from(FORMATS)


@st.composite
def files(draw: st.DrawFn) -> tuple[str, Format]:
    """Return a file that its format mostly reads."""
    format: Format = draw(FORMAT)
    own = sorted({one["token"] for one in document()["tool_names"] if one["format"] == format})
    is_strange = draw(st.integers(0, 3)) == 0
    names = (
        draw(st.lists(st.sampled_from(own), max_size=6))
        if own and not is_strange
        else draw(LISTED)
    )
    if format == "codex":
        mode = draw(st.sampled_from(["read-only", "workspace-write", "danger-full-access"]))
        head = 'name = "a"\ndescription = "d"\ndeveloper_instructions = "x"\n'
        return f'{head}sandbox_mode = "{mode}"\n', format
    if format == "goose":
        return _recipe(draw, names), format
    if format == "opencode":
        effects = st.sampled_from(["allow", "ask", "deny", '{"*": deny, "a*": allow}'])
        rules = "".join(f"  {quoted(name)}: {draw(effects)}\n" for name in dict.fromkeys(names))
        return (
            f'---\npermission:\n  "*": {draw(st.sampled_from(["allow", "deny"]))}\n{rules}---\n',
            format,
        )
    if format == "cursor":
        return f"---\nreadonly: {draw(st.sampled_from(['true', 'false']))}\n---\n", format
    tools = ", ".join(quoted(name) for name in names)
    return f"---\nname: a\ndescription: d\ntools: [{tools}]\n---\nBody.\n", format


def _recipe(draw: st.DrawFn, names: list[str]) -> str:
    kinds = st.sampled_from(["builtin", "platform", "stdio", "inline_python"])
    tools = st.lists(st.sampled_from(["write", "edit", "shell", "tree", "x"]), max_size=3)
    entries = "".join(
        f"\n  - {{type: {draw(kinds)}, name: {quoted(name)}, available_tools: {draw(tools)}}}"
        for name in [*names, "developer"]
    )
    return f"title: t\nextensions:{entries}\n"


@MANY
@given(files(), FORMAT)
def test_what_is_rendered_is_never_wider(file: tuple[str, Format], format: Format) -> None:
    grant = read_grants(*file)
    try:
        text = render_grants(grant, format)
    except WideningRefused:
        return
    assert check_no_widening(grant, read_grants(text, format)).is_within


@MANY
@given(st.sampled_from(EXAMPLES), st.text(max_size=60))
def test_a_body_never_changes_the_grant(example: tuple[Format, str], more: str) -> None:
    format, text = example
    before = read_grants(text, format)
    if format == "codex" or before.state == "unreadable":
        return
    assert read_grants(text + more, format) == before


def described(file: tuple[str, Format], words: str) -> str:
    """Return a file with other words for its description."""
    text, format = file
    if format == "codex":
        said = json.dumps(words, ensure_ascii=False).replace("\x7f", "\\u007f")
        return text.replace('description = "d"', f"description = {said}")
    line = f"description: {quoted(words)}\n"
    if format == "goose":
        return line + text
    return text.replace("---\n", f"---\n{line}", 1).replace("description: d\n", "")


@MANY
@given(files(), TEXTS)
def test_a_description_never_changes_the_grant(file: tuple[str, Format], words: str) -> None:
    def said(text: str) -> tuple[object, ...]:
        grant = read_grants(text, file[1])
        return grant.state, grant.powers_lower, grant.powers_upper, grant.extras

    assert said(described(file, words)) == said(described(file, "d"))


@MANY
@given(st.lists(st.text(st.characters(codec="utf-8", exclude_categories=["Cc"])), max_size=4))
def test_a_block_scalar_never_changes_the_grant(lines: list[str]) -> None:
    block = "".join(f"    {line}\n" for line in lines if "\ufeff" not in line and line.strip())
    text = f"---\ndescription: |\n    d\n{block}tools: Read\n---\n"
    grant = read_grants(text, "claude")
    if grant.state == "unreadable":
        # Characters that YAML forbids make the whole head unreadable.
        assert "not allowed" in grant.problems[-1].message
    else:
        assert (grant.state, grant.scopes_upper) == ("listed", ("read",))


@MANY
@given(st.text(max_size=200) | files().map(lambda one: one[0]), FORMAT)
def test_every_text_ends_in_a_grant(text: str, format: Format) -> None:
    assert isinstance(read_grants(text, format), Grant)
    assert isinstance(read_grants(f"---\n{text}\n---\n", format), Grant)
    assert read_agent(text, format).grant == read_grants(text, format)


@MANY
@given(st.sampled_from(EXAMPLES), st.integers(0, 200), st.text(max_size=3), FORMAT)
def test_every_broken_file_ends_in_a_grant(
    example: tuple[Format, str], index: int, put: str, format: Format
) -> None:
    text = example[1]
    assert isinstance(read_grants(text[:index] + put + text[index + 1 :], format), Grant)


@MANY
@given(files(), TEXTS, FORMAT)
def test_rendering_twice_changes_nothing(
    file: tuple[str, Format], body: str, format: Format
) -> None:
    agent = read_agent(*file)
    try:
        text, _ = render_agent(agent, format)
        again, _ = render_agent(read_agent(text, format), format)
    except WideningRefused:
        return
    assert again == text


@MANY
@given(TEXTS, TEXTS, TEXTS)
def test_no_text_of_an_agent_adds_a_key(name: str, description: str, body: str) -> None:
    source = (
        f"---\nname: {quoted(name)}\ndescription: {quoted(description)}\n"
        f"tools: Read, Grep, Glob, Bash\n---\n{body}"
    )
    agent = read_agent(source, "claude")
    for format in ("claude", "copilot", "goose", "codex", "opencode", "factory", "gemini"):
        text, verdict = render_agent(agent, format)
        assert verdict.is_within
        assert "execute" in read_grants(text, format).scopes_lower


# Reads files from its input, one a line, and writes what they become in every format.
WRITER = """
import json, sys
from agentctl.agentfiles.agent import read_agent
from agentctl.agentfiles.model import FORMATS
from agentctl.agentfiles.rendering import render_agent
from agentctl.errors import WideningRefused

for line in sys.stdin:
    agent = read_agent(*json.loads(line))
    said = [agent.grant.scopes_lower, agent.grant.scopes_upper, agent.grant.extras]
    for format in FORMATS:
        try:
            said.append(render_agent(agent, format)[0])
        except WideningRefused as refused:
            said.append(refused.message)
    print(json.dumps(said), flush=True)
"""


class Writer:
    """A process whose sets have an order of their own."""

    def __init__(self, seed: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", WRITER],
            env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONHASHSEED": seed},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __call__(self, text: str, format: Format) -> str:
        """Return what the file becomes."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps([text, format]) + "\n")
        self._process.stdin.flush()
        return self._process.stdout.readline()

    def close(self) -> None:
        """End the process."""
        self._process.communicate()


@pytest.fixture(scope="module")
def writers() -> Iterator[list[Writer]]:
    """Return three processes with different orders of sets."""
    made = [Writer(seed) for seed in ("0", "1", "77")]
    yield made
    for one in made:
        one.close()


@MANY
@given(file=files())
def test_the_bytes_do_not_depend_on_the_order_of_sets(
    writers: list[Writer], file: tuple[str, Format]
) -> None:
    said = {write(*file) for write in writers}
    assert len(said) == 1
    assert said != {""}


def with_parser(loader: type, text: str, format: Format) -> object:
    """Return what is read when this parser is installed; the words of a refusal are its own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(yaml_text, "_LOADER", loader)
        grant = read_grants(text, format)
    return grant.state, grant.tokens, grant.extras, grant.powers_lower, grant.powers_upper


BROKEN = st.tuples(
    st.sampled_from(EXAMPLES), st.integers(0, 200), st.text(":-[]{}#'\"|> \n\ta,", max_size=3)
).map(lambda one: (one[0][1][: one[1]] + one[2] + one[0][1][one[1] + 1 :], one[0][0]))


@MANY
@given(files() | BROKEN)
def test_a_grant_does_not_depend_on_the_parser_that_is_installed(
    file: tuple[str, Format],
) -> None:
    assert with_parser(yaml.CSafeLoader, *file) == with_parser(yaml.SafeLoader, *file)
