"""The shared vectors of agent files, by the function that they are about."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from tests.cli.harness import SHARED

PATH = (SHARED / "vectors" / "agent-files.json").resolve()


@cache
def document() -> dict[str, Any]:
    """Return the whole file."""
    read: dict[str, Any] = json.loads(PATH.read_text(encoding="utf-8"))
    return read


def rows(function: str) -> list[dict[str, Any]]:
    """Return the rows of a function; there is at least one."""
    found = [row for row in document()["vectors"] if row["function"] == function]
    assert found, function
    return found


def name(row: dict[str, Any]) -> str:
    """Return a row's name as a test's name."""
    return str(row["id"])
