"""How long files and functions may be."""

from __future__ import annotations

import ast
from statistics import median

from tests.code.tree import sources, trees

FILE_LINES_MAX = 400
FUNCTION_LINES_MAX = 60
# A ratchet: lower it when the code got simpler.
MEDIAN_FUNCTION_LINES_MAX = 8
GENERATED = {"agentctl/machines/compiled.py", "agentctl/machines/names.py"}


def functions(*folders: str) -> dict[str, int]:
    """Return the length of every function below the folders, in lines."""
    return {
        f"{path}:{node.lineno} {node.name}": (node.end_lineno or 0) - node.lineno + 1
        for path, tree in trees(*folders).items()
        for node in ast.walk(tree)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
    }


def test_no_file_is_longer_than_four_hundred_lines() -> None:
    found = {
        path: lines
        for path, text in sources("agentctl", "tests", "docs", "examples", "benchmarks").items()
        if (lines := text.count("\n")) > FILE_LINES_MAX and path not in GENERATED
    }
    assert not found


def test_no_function_is_longer_than_sixty_lines() -> None:
    lengths = functions("agentctl", "tests", "docs", "examples", "benchmarks")
    assert not {name: lines for name, lines in lengths.items() if lines > FUNCTION_LINES_MAX}


def test_half_of_all_functions_are_short() -> None:
    assert median(functions("agentctl").values()) <= MEDIAN_FUNCTION_LINES_MAX
