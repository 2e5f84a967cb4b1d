"""The package's own source, parsed once for the rules."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "agentctl"
WRITTEN = ("agentctl", "tests", "docs", "examples", "benchmarks")


@cache
def sources(*folders: str) -> dict[str, str]:
    """Return the text of every Python file below the folders, by path from the root."""
    paths = (path for folder in folders for path in sorted((ROOT / folder).rglob("*.py")))
    return {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in paths}


@cache
def trees(*folders: str) -> dict[str, ast.Module]:
    """Return the syntax tree of every Python file below the folders, by path from the root."""
    return {path: ast.parse(text, path) for path, text in sources(*folders).items()}


def module_name(path: str) -> str:
    """Return the dotted name of a module's path."""
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
