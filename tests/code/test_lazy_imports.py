"""A quick command does not pay for what it does not use."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.code.tree import ROOT

if TYPE_CHECKING:
    from pathlib import Path

SCRIPT = """
import sys
from agentctl.cli.main import run
code = run(sys.argv[1:])
sys.stderr.write(f"\\n{code} " + " ".join(sys.modules))
"""
HEAVY = {"asyncio", "cryptography", "httpx", "pydantic", "rich", "sqlite3", "statemachine"}

SECTIONS = {
    "agent_model",
    "effect_model",
    "flow_model",
    "pack_model",
    "remote_model",
    "secret_model",
}


def modules(*arguments: str) -> set[str]:
    """Return the modules that a successful command has loaded when it ends."""
    ended = subprocess.run(
        [sys.executable, "-c", SCRIPT, *arguments],
        cwd=ROOT,
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    code, *names = ended.stderr.splitlines()[-1].split()
    assert code == "0", ended.stderr
    return set(names)


def test_version_loads_nothing_heavy() -> None:
    assert not modules("version") & (HEAVY | {"jsonschema", "yaml", "cattrs"})


@pytest.mark.parametrize("command", ["list", "explain"])
def test_telling_of_the_tools_loads_nothing_heavy(command: str) -> None:
    assert not modules("tools", command) & (HEAVY | {"jsonschema", "yaml", "cattrs"})


@pytest.mark.parametrize("command", ["check", "plan"])
def test_compiling_loads_no_database_no_network_and_no_event_loop(command: str) -> None:
    assert not modules(command, "examples/hello.yaml") & (HEAVY | {"jsonschema"})


def test_a_run_without_schemas_loads_no_network_and_no_validator(tmp_path: Path) -> None:
    loaded = modules("run", "examples/hello.yaml", "--db", str(tmp_path / "run.db"))
    assert "sqlite3" in loaded
    assert not loaded & {"cryptography", "httpx", "jsonschema", "rich", "statemachine"}


def test_a_workflow_loads_only_the_sections_of_the_model_that_it_has() -> None:
    sections = {f"agentctl.engine.document.{name}" for name in SECTIONS}
    assert not modules("check", "examples/hello.yaml") & sections
    assert modules("check", "examples/retry.yaml") & sections == {
        "agentctl.engine.document.agent_model",
        "agentctl.engine.document.flow_model",
    }


def test_the_last_collection_at_exit_has_nothing_to_look_at() -> None:
    script = """
import atexit, gc
from agentctl.cli.main import main
atexit.register(lambda: print(len(gc.get_objects())))
main(["check", "examples/hello.yaml", "--output", "json"])
"""
    ended = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, encoding="utf-8", check=True
    )
    assert int(ended.stdout.splitlines()[-1]) < 100


def test_importing_the_package_loads_almost_nothing() -> None:
    script = "import sys, agentctl; print(*sys.modules)"
    ended = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, encoding="utf-8", check=True
    )
    loaded = set(ended.stdout.split())
    assert not loaded & (HEAVY | {"attr", "typer", "yaml"})
