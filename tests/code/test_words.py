"""The project speaks of itself alone, and leaves no loose ends."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from tests.code.tree import ROOT

if TYPE_CHECKING:
    from pathlib import Path

FOLDERS = ("agentctl", "tests", "docs", "examples", "benchmarks", ".ci")
SUFFIXES = {".py", ".md", ".yaml", ".yml", ".sql", ".toml", ".json", ""}
# Put together from halves, so that this file does not hold what it forbids.
FORBIDDEN = {
    "a path of one machine": r"(?<![\w.])/(?:work|root|home|Users)/\w",
    "a registry": r"pypi\.org|pythonhosted|conda\.anaconda|npmjs|(?<!emit-)index-url",
    "a number of an issue": r"(?i)\b(?:issue|ticket|pull request) ?#? ?\d+\b|\bGH-\d+",
    "unfinished work": r"\b(?:TO" + r"DO|FIX" + r"ME|X" + r"XX)\b|not implemented" + r" yet",
    "talk about its making": r"(?i)\b(?:as an ai|language model wrote|this ses" + r"sion)\b",
}
HERE = "tests/code/test_words.py"


def files() -> list[Path]:
    """Return every file that people read."""
    found = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*")]
    found += [path for path in ROOT.iterdir() if path.suffix in (".md", ".toml")]
    found.append(ROOT / "Makefile")
    return sorted(
        path
        for path in found
        if path.is_file() and path.suffix in SUFFIXES and "__pycache__" not in path.parts
    )


@pytest.mark.parametrize("what", FORBIDDEN)
def test_no_file_holds(what: str) -> None:
    pattern = re.compile(FORBIDDEN[what])
    found = [
        f"{path.relative_to(ROOT)}:{number}: {match[0]}"
        for path in files()
        if path.relative_to(ROOT).as_posix() != HERE
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if (match := pattern.search(line))
    ]
    assert not found
