"""The pages say what the code does, and their examples run."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from typing import TYPE_CHECKING

import pytest

from agentctl import Engine
from agentctl.cli.app import COMMANDS
from agentctl.testing import FixedEntropy, ManualClock
from tests.code.pages import Block, blocks, document, pages
from tests.code.tree import ROOT

if TYPE_CHECKING:
    from pathlib import Path

CLI = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
# A script finds the package where it was started from, installed or not.
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}
# Options of other programs that the pages mention.
FOREIGN_OPTIONS = {"--title", "--agentctl-handshake", "--agentctl-invoke"}


def by_place(block: Block) -> str:
    """Return a test's name."""
    return block.place


def test_the_generated_pages_are_current() -> None:
    ended = subprocess.run(
        [sys.executable, "docs/generate.py", "--check"],
        cwd=ROOT,
        env=ENVIRONMENT,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert ended.returncode == 0, ended.stderr


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_has_its_section(command: str) -> None:
    assert re.search(rf"^## `agentctl {command}\b", CLI, re.MULTILINE)


def test_every_option_that_a_page_mentions_exists() -> None:
    known = set(re.findall(r"--[a-z][a-z-]+", CLI)) | FOREIGN_OPTIONS | {"--help"}
    mentioned = {
        (path.name, option)
        for path in pages()
        for option in re.findall(r"(?<![\w-])--[a-z][a-z-]+", path.read_text(encoding="utf-8"))
    }
    assert not {one for one in mentioned if one[1] not in known}


def test_every_command_that_a_page_mentions_exists() -> None:
    text = "\n".join(path.read_text(encoding="utf-8") for path in pages())
    # `agentctl WORD` in code: after a back-tick, or at a prompt.
    mentioned = set(re.findall(r"(?:`|\$ )agentctl ([a-z][a-z-]*)", text))
    assert mentioned
    assert mentioned <= set(COMMANDS)


def test_every_dependency_has_its_reason() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    page = (ROOT / "docs" / "dependencies.md").read_text(encoding="utf-8")
    for one in [*project["dependencies"], *project["optional-dependencies"]["dev"]]:
        name = re.split(r"[<>=\[]", one)[0]
        assert re.search(rf"^\|.*\b{re.escape(name)}\b.*\|.+\|$", page, re.MULTILINE), name


def test_every_link_leads_somewhere() -> None:
    for path in pages():
        for target in re.findall(r"\]\(([^)#\s]+)", path.read_text(encoding="utf-8")):
            assert "://" in target or (path.parent / target).exists(), f"{path.name}: {target}"


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.yaml")), ids=lambda p: p.name)
def test_an_example_compiles_without_a_warning(path: Path) -> None:
    engine = Engine("unused.db")
    assert not engine.load(path).warnings


@pytest.mark.parametrize(
    ("name", "state"),
    [
        ("hello", "succeeded"),
        ("release", "succeeded"),
        ("retry", "succeeded"),
        ("approval", "paused"),
        ("review", "paused"),
        ("brief", "paused"),
        ("crash", "succeeded"),
    ],
)
def test_an_example_ends_as_it_says(name: str, state: str, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("All tests pass.\n", encoding="utf-8")
    with Engine(tmp_path / "run.db", clock=ManualClock(), entropy=FixedEntropy()) as engine:
        loaded = engine.load(ROOT / "examples" / f"{name}.yaml", workspace=tmp_path)
        assert engine.start_sync(loaded, workspace=tmp_path).state == state


@pytest.mark.parametrize("block", blocks("python"), ids=by_place)
def test_python_in_a_page_runs(block: Block, tmp_path: Path) -> None:
    if block.note:
        pytest.skip(block.note)
    (tmp_path / "work").mkdir()
    ended = subprocess.run(
        [sys.executable, "-c", block.text],
        cwd=tmp_path,
        env=ENVIRONMENT,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert ended.returncode == 0, ended.stderr


@pytest.mark.parametrize("block", blocks("yaml"), ids=by_place)
def test_yaml_in_a_page_compiles_and_runs(block: Block, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "notes.txt").write_text("a note\n", encoding="utf-8")
    (tmp_path / "region.yaml").write_text("region: north\n", encoding="utf-8")
    shutil.copytree(ROOT / "examples" / ".claude", tmp_path / ".claude")
    engine = Engine(
        tmp_path / "run.db", workspace=tmp_path, clock=ManualClock(), entropy=FixedEntropy()
    )
    try:
        loaded = engine.load(document(block), workspace=str(tmp_path))
        if block.note != "compiled only":
            expected = block.note.removeprefix("ends ") or "succeeded"
            outcome = engine.start_sync(loaded, workspace=str(tmp_path))
            assert outcome.state == expected, outcome.error
    finally:
        engine.close()
