"""Who may import whom. Imports inside functions count; those for type checkers alone do not."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections import defaultdict
from typing import TYPE_CHECKING

import pytest

from tests.code.tree import ROOT, module_name, trees

if TYPE_CHECKING:
    from collections.abc import Iterator

MODULES = {module_name(path): tree for path, tree in trees("agentctl").items()}
TOP = {
    "agentctl",
    "agentctl.__main__",
    "agentctl.blocking",
    "agentctl.compensating",
    "agentctl.deciding",
    "agentctl.comparing",
    "agentctl.deriving",
    "agentctl.discretion",
    "agentctl.door",
    "agentctl.loading",
    "agentctl.part",
    "agentctl.registering",
    "agentctl.requesting",
    "agentctl.starting",
    "agentctl.testing",
}
PORTS = {"engine.entities", "engine.ports", "engine.records"}
ALLOWED = {
    "base": {"base"},
    "text": {"base", "text"},
    "agentfiles": {"base", "text", "agentfiles"},
    "catalog": {"base", "catalog"},
    "machines": {"base", "machines"},
    "control": {"base", "catalog", "machines", "control", *PORTS},
    "engine": {"base", "text", "agentfiles", "catalog", "machines", "engine", *PORTS},
    "effects": {"base", "machines", "effects", *PORTS},
    "store": {"base", "machines", "store", *PORTS},
    "top": {
        "base",
        "catalog",
        "control",
        "machines",
        "engine",
        "effects",
        "store",
        "cli",
        "top",
        *PORTS,
    },  # fmt: skip,
    "cli": {
        "base",
        "text",
        "agentfiles",
        "catalog",
        "control",
        "machines",
        "engine",
        "effects",
        "store",
        "cli",
        "top",
        *PORTS,
    },
}
# `referencing` is the part of jsonschema that its validators take.
IMPORT_NAMES = {"attrs": "attr", "python-statemachine": "statemachine", "pyyaml": "yaml"}
# The machines are compiled by a command, which is the only reader of the library.
_PURE = {
    "asyncio", "httpx", "os", "pathlib", "random", "secrets", "socket", "sqlite3", "subprocess",
    "time", "uuid",
}  # fmt: skip
OUTSIDE = {
    "text": _PURE,
    "agentfiles": _PURE,
    "catalog": _PURE,
    "control": _PURE,
    "engine": {
        "asyncio.subprocess", "httpx", "os", "pathlib", "random", "secrets", "socket", "sqlite3",
        "subprocess", "time", "uuid",
    },
    "machines": {"asyncio", "httpx", "os", "random", "socket", "sqlite3", "subprocess", "time"},
    "store": {"asyncio", "httpx", "random", "subprocess"},
    "effects": {"sqlite3", "random"},
}  # fmt: skip


def place(module: str) -> str:
    """Return the layer of a module of ours."""
    if module in TOP:
        return "top"
    parts = module.split(".")
    if len(parts) > 1 and parts[1] not in ALLOWED:
        return "base"
    if ".".join(parts[1:3]) in PORTS:
        return ".".join(parts[1:3])
    return parts[1]


def layer(module: str) -> str:
    """Return the layer whose rules a module follows."""
    return place(module).split(".")[0]


def is_for_types(node: ast.stmt) -> bool:
    """Return whether a statement is `if TYPE_CHECKING:`."""
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"


def imported(tree: ast.AST, *, is_nested: bool) -> Iterator[str]:
    """Yield what is imported when a module is loaded, and with `is_nested` when it is used."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import):
            yield from (one.name for one in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            yield from _from(node)
        elif (isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and not is_nested) or (
            isinstance(node, ast.stmt) and is_for_types(node)
        ):
            continue
        else:
            yield from imported(node, is_nested=is_nested)


def _from(node: ast.ImportFrom) -> Iterator[str]:
    for one in node.names:
        inner = f"{node.module}.{one.name}"
        yield inner if inner in MODULES else str(node.module)


@pytest.mark.parametrize("module", sorted(MODULES))
def test_a_module_imports_only_from_its_own_layer_and_those_below(module: str) -> None:
    own = layer(module)
    for name in imported(MODULES[module], is_nested=True):
        if name.split(".")[0] == "agentctl":
            assert place(name) in ALLOWED[own], f"{module} ({own}) imports {name}"


@pytest.mark.parametrize("module", sorted(MODULES))
def test_a_module_imports_nothing_that_its_layer_must_not_touch(module: str) -> None:
    forbidden = OUTSIDE.get(layer(module), set())
    found = set(imported(MODULES[module], is_nested=True))
    assert not found & forbidden
    assert not {name.split(".")[0] for name in found} & forbidden


def test_the_library_of_state_machines_is_imported_by_the_machines_alone() -> None:
    users = {
        module
        for module, tree in MODULES.items()
        if any(name.split(".")[0] == "statemachine" for name in imported(tree, is_nested=True))
    }
    assert users
    assert {layer(module) for module in users} == {"machines"}


def test_no_modules_import_each_other_in_a_circle() -> None:
    graph = {
        module: [name for name in imported(tree, is_nested=False) if name in MODULES]
        for module, tree in MODULES.items()
    }
    done: dict[str, bool] = defaultdict(bool)

    def visit(module: str, trail: tuple[str, ...]) -> None:
        assert module not in trail, f"a circle: {' -> '.join((*trail, module))}"
        if not done[module]:
            for name in graph[module]:
                visit(name, (*trail, module))
            done[module] = True

    for module in graph:
        visit(module, ())


def test_only_declared_dependencies_are_imported() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    listed = {re.split(r"[<>=]", one)[0] for one in project["dependencies"]}
    declared = {IMPORT_NAMES.get(name, name) for name in listed} | {"agentctl", "referencing"}
    found = {
        name.split(".")[0] for tree in MODULES.values() for name in imported(tree, is_nested=True)
    }
    assert found - set(sys.stdlib_module_names) <= declared
