"""Compiling texts in tests, with files from a mapping."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from agentctl.diagnostics import Diagnostic
    from agentctl.engine.compiler import CompileResult, KnownAction

SHARED = Path(__file__).parents[2] / "../shared"
EXAMPLES = SHARED / "examples"


def marked(text: str) -> tuple[str, int, int]:
    """Take the mark out of a text; return the text and the mark's line and column, from 1."""
    before, mark, after = text.partition("«")
    if not mark:
        return text, 0, 0
    return before + after, before.count("\n") + 1, len(before) - before.rfind("\n")


def problems(result: CompileResult) -> Sequence[Diagnostic]:
    """Return the errors of a result."""
    return [one for one in result.diagnostics if one.severity == "error"]
