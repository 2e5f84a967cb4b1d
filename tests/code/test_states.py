"""States are named by the machines' typed names and sets, never by a text written elsewhere."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from agentctl.machines import compiled
from agentctl.machines.table import Table
from tests.code.tree import PACKAGE, trees

if TYPE_CHECKING:
    from collections.abc import Iterator

STATES = {
    state
    for table in vars(compiled).values()
    if isinstance(table, Table)
    for state in table.states
}
# What a keyword or a variable is called when its value is a state.
NAMED = {"state", "states", "status"}
# Places where a word that is also a state's name means something else, each with its reason.
EXCEPTIONS: dict[str, str] = {}


def uses(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield the line and text of every state that a module compares, collects or hands on."""
    for node in ast.walk(tree):
        for value in _values(node):
            if isinstance(value, ast.Constant) and value.value in STATES:
                yield value.lineno, str(value.value)


def _values(node: ast.AST) -> Iterator[ast.expr]:
    if isinstance(node, ast.Compare):
        for one in (node.left, *node.comparators):
            yield from _members(one)
    elif isinstance(node, ast.Set):
        yield from node.elts
    elif isinstance(node, ast.Call):
        for keyword in node.keywords:
            if keyword.arg in NAMED:
                yield from _members(keyword.value)
    elif isinstance(node, ast.MatchValue):
        yield node.value
    elif isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        if any(ast.unparse(one).rpartition(".")[2].lower() in NAMED for one in targets):
            yield from _members(node.value)


def _members(node: ast.expr) -> Iterator[ast.expr]:
    """Yield an expression, or what a literal collection or a choice holds."""
    if isinstance(node, (ast.Tuple, ast.List, ast.Set)):
        yield from node.elts
    elif isinstance(node, ast.IfExp):
        yield from (node.body, node.orelse)
    else:
        yield node


def test_no_state_is_compared_or_written_as_a_text_outside_the_machines() -> None:
    found = {
        f"{path}:{text}": line
        for path, tree in trees("agentctl").items()
        if not path.startswith("agentctl/machines/")
        for line, text in uses(tree)
    }
    assert found.keys() == EXCEPTIONS.keys(), {
        place: line for place, line in found.items() if place not in EXCEPTIONS
    }


def test_no_statement_of_the_database_names_a_state() -> None:
    for path in sorted((PACKAGE / "store").rglob("*.sql")):
        texts = set(re.findall(r"'([^']*)'", path.read_text(encoding="utf-8")))
        assert not texts & STATES, path.name


def test_the_search_finds_what_it_looks_for() -> None:
    module = ast.parse(
        "if run.state == 'running': pass\n"
        "if state in ('paused', 'x'): pass\n"
        "evolve(task, state='failed')\n"
        "OVER = {'succeeded'}\n"
        "print('running')\n"
    )
    assert sorted(uses(module)) == [
        (1, "running"),
        (2, "paused"),
        (3, "failed"),
        (4, "succeeded"),
    ]
