"""Agent files through the real program."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest

from agentctl.limits import DOCUMENT_BYTES_MAX
from tests.cli.harness import run_cli, run_json

if TYPE_CHECKING:
    from pathlib import Path

READER = "---\nname: reader\ndescription: Reads.\ntools: Read, Grep, Glob, WebFetch\n---\nRead.\n"


@pytest.fixture
def reader(tmp_path: Path) -> Path:
    """Return a Claude subagent in its place."""
    return put(tmp_path / ".claude" / "agents" / "reader.md", READER)


def put(path: Path, text: str) -> Path:
    """Write a file with its folders."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_show_tells_the_grant_with_every_place(reader: Path) -> None:
    shown = run_json("agents", "show", str(reader)).expect(0)
    assert shown.at("/data/state") == "listed"
    assert shown.at("/data/scopesLower") == ["read", "search"]
    assert shown.at("/data/extras") == ["web"]
    assert [(one["text"], one["line"], one["column"]) for one in shown.items("/data/tokens")] == [
        ("Read", 4, 8),
        ("Grep", 4, 14),
        ("Glob", 4, 20),
        ("WebFetch", 4, 26),
    ]
    text = run_cli("agents", "show", str(reader)).expect(0).stdout
    assert "grants   listed" in text
    assert "4:26   WebFetch  web" in text


def test_a_file_in_no_known_place_needs_its_format_named(tmp_path: Path) -> None:
    file = put(tmp_path / "a.md", READER)
    refused = run_json("agents", "show", str(file)).expect(2)
    assert "its place does not tell the format" in refused.text("/error/message")
    shown = run_json("agents", "show", str(file), "--format", "copilot").expect(0)
    assert shown.at("/data/scopesLower") == ["read", "search"]
    wrong = run_json("agents", "show", str(file), "--format", "cluade").expect(2)
    assert wrong.text("/error/message") == "no format 'cluade'"


def test_check_passes_a_folder_of_readable_files(reader: Path) -> None:
    folder = reader.parents[2]
    put(folder / "README.md", "# No agent\n")
    done = run_json("agents", "check", str(folder)).expect(0)
    assert done.at("/data/files") == 1
    assert done.at("/data/bad") == []


def test_check_names_what_is_unreadable_or_unknown_by_place(reader: Path) -> None:
    folder = reader.parents[2]
    put(reader.parent / "twice.md", "---\ntools: Read\ntools: Bash\n---\n")
    put(reader.parent / "wrong.md", "---\ntools: Read, grep\n---\n")
    done = run_cli("agents", "check", str(folder)).expect(1)
    assert "twice.md:3:1: duplicate key 'tools'; it stands in line 2 too" in done.stdout
    assert "wrong.md:2:14: 'grep' is no tool of this host; did you mean 'Grep'?" in done.stdout
    assert done.stdout.endswith("3 agent files, 2 unreadable or with unknown names\n")


def test_check_says_that_there_is_no_such_folder(tmp_path: Path) -> None:
    refused = run_json("agents", "check", str(tmp_path / "none")).expect(2)
    assert refused.text("/error/code") == "source_error"


def test_check_names_what_cannot_be_read_and_goes_on(reader: Path) -> None:
    agents, folder = reader.parent, reader.parents[2]
    (agents / "bytes.md").write_bytes(b"---\nname: \xff\n---\n")
    (agents / "large.md").write_bytes(b"x" * (DOCUMENT_BYTES_MAX + 1))
    (agents / "link.md").symlink_to("nowhere.md")
    os.mkfifo(agents / "pipe.md")
    put(agents / "twice.md", "---\ntools: Read\ntools: Bash\n---\n")
    done = run_json("agents", "check", str(folder)).expect(1)
    bad = [str(agents / f"{name}.md") for name in ("bytes", "large", "link", "pipe", "twice")]
    assert (done.at("/data/files"), done.at("/data/bad")) == (6, bad)
    assert [one["name"] for one in done.items("/data/agents")] == ["reader", "twice"]
    unread = done.items("/data/unread")
    assert [one["file"] for one in unread] == bad[:4]
    assert {one["code"] for one in unread} == {"source_error"}
    lines = run_cli("agents", "check", str(folder)).expect(1).stdout.splitlines()
    assert lines[0] == f"{bad[0]} is not UTF-8 (byte 10); save the file as UTF-8"
    assert "bytes; an agent file holds instructions" in lines[1]
    assert lines[2] == f"{bad[2]}: No such file or directory"
    assert lines[3] == f"{bad[3]} is not a regular file"
    assert lines[-1] == "6 agent files, 5 unreadable or with unknown names"


@pytest.mark.parametrize("verb", ["show", "diff", "convert", "import"])
def test_a_file_that_cannot_be_read_is_no_evidence(verb: str, tmp_path: Path) -> None:
    file = tmp_path / "a.agent.md"
    file.write_bytes(b"\xff")
    more = {"show": (), "diff": (str(file),)}.get(verb, (str(tmp_path / "b"), "--to", "claude"))
    for message in ("is not UTF-8", "is not a regular file"):
        refused = run_json("agents", verb, str(file), *more).expect(2)
        assert refused.at("/error/code") == "source_error"
        assert message in refused.text("/error/message")
        file.unlink(missing_ok=True)
        os.mkfifo(file)


def test_convert_writes_no_more_than_the_source_and_says_each_change(
    reader: Path, tmp_path: Path
) -> None:
    target = tmp_path / ".goose" / "recipes" / "reader.yaml"
    target.parent.mkdir(parents=True)
    done = run_cli("agents", "convert", str(reader), str(target), "--to", "goose").expect(0)
    assert done.stdout.splitlines() == [
        f"{reader}:4:26: drops WebFetch (web.fetch)",
        f"{target}: written",
    ]
    shown = run_json("agents", "show", str(target)).expect(0)
    assert shown.at("/data/scopesUpper") == ["read", "search"]
    refused = run_json("agents", "convert", str(reader), str(target), "--to", "goose").expect(2)
    assert refused.text("/error/message") == f"{target}: exists"
    more = ("--to", "goose", "--overwrite")
    again = run_json("agents", "convert", str(reader), str(target), *more).expect(0)
    assert again.at("/data/verdict") == "narrowed"
    assert again.at("/data/dropped") == ["web"]


def test_a_dry_run_shows_the_changes_and_writes_nothing(reader: Path, tmp_path: Path) -> None:
    target = tmp_path / "reader.toml"
    arguments = (str(reader), str(target), "--to", "copilot", "--dry-run")
    done = run_json("agents", "convert", *arguments).expect(0)
    assert done.at("/data/isWritten") is False
    assert not target.exists()


@pytest.mark.parametrize(
    ("head", "to", "message"),
    [
        ("name: a", "copilot", "what the source grants cannot be told"),
        ("tools: []", "copilot", "what the source grants cannot be told: tools is empty"),
        ("tools: Read", "codex", "codex grants reading, searching and running commands at least"),
        ("tools: Read", "agents-md", "agents-md has no place for tools"),
    ],
)
def test_a_conversion_that_would_widen_is_refused(
    head: str, to: str, message: str, tmp_path: Path
) -> None:
    source = put(tmp_path / ".claude" / "agents" / "a.md", f"---\n{head}\n---\n")
    target = tmp_path / "out"
    refused = run_json("agents", "convert", str(source), str(target), "--to", to).expect(2)
    assert refused.text("/error/code") == "would_widen"
    assert message in refused.text("/error/message")
    assert not target.exists()


def test_diff_shows_what_a_second_file_adds(reader: Path) -> None:
    wider = put(reader.parent / "wider.md", READER.replace("Glob, WebFetch", "Bash"))
    done = run_cli("agents", "diff", str(reader), str(wider)).expect(1)
    assert done.stdout.splitlines() == [
        f"{reader}:4:20: drops Glob (search.files)",
        f"{reader}:4:26: drops WebFetch (web.fetch)",
        f"{wider}:4:20: adds Bash (execute.run)",
        "adds execute",
        "drops web",
        "drops search.files",
        f"{wider}: widened",
    ]
    same = run_json("agents", "diff", str(reader), str(reader)).expect(0)
    assert same.at("/data/verdict") == "ok"
    assert same.at("/data/changes") == []


def test_an_interchange_document_brings_an_agent_to_another_host(
    reader: Path, tmp_path: Path
) -> None:
    document = tmp_path / "team.json"
    run_json("agents", "convert", str(reader), str(document), "--to", "interchange").expect(0)
    assert json.loads(document.read_text(encoding="utf-8"))["agents"][0]["slug"] == "reader"
    folder = tmp_path / "out"
    folder.mkdir()
    done = run_json("agents", "import", str(document), str(folder), "--to", "gemini").expect(0)
    assert done.at("/data/agents/0/verdict") == "ok"
    text = (folder / "reader.md").read_text(encoding="utf-8")
    assert (
        'tools: ["read_file", "read_many_files", "grep_search", "glob", "list_directory"' in text
    )
    refused = run_json("agents", "import", str(document), str(folder), "--to", "gemini").expect(2)
    assert "exists" in refused.text("/error/message")


def test_a_file_that_is_no_interchange_document_is_refused(tmp_path: Path) -> None:
    file = put(tmp_path / "a.json", "{")
    refused = run_json("agents", "import", str(file), str(tmp_path), "--to", "claude").expect(2)
    assert refused.text("/error/code") == "invalid_interchange"
    put(file, "{}")
    refused = run_json("agents", "import", str(file), str(tmp_path), "--to", "claude").expect(2)
    assert "agents: a list is needed" in refused.text("/error/message")
