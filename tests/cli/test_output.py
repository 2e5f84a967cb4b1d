"""Output contracts: envelopes, exit codes, colours, help, and what start-up imports."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from agentctl.cli.app import COMMANDS
from tests.cli.harness import ROOT, environment, run_cli, run_json

if TYPE_CHECKING:
    from pathlib import Path

BAD_INVOCATIONS = [
    ("unknown", "--output", "json"),
    ("run", "--output", "json"),
    ("--output", "json", "--color", "invalid", "version"),
    ("version", "--output=json", "--no-such-option"),
    ("runs", "--limit", "many", "--output", "json"),
    ("--output", "json"),
]


def test_version_is_an_envelope() -> None:
    shown = run_json("version").expect(0)
    assert shown.at("/apiVersion") == "agentctl.dev/cli/v1"
    assert shown.at("/kind") == "Version"
    assert shown.stderr == ""


@pytest.mark.parametrize("args", BAD_INVOCATIONS, ids=" ".join)
def test_a_wrong_command_line_is_an_envelope_too(args: tuple[str, ...]) -> None:
    shown = run_cli(*args).expect(2)
    assert shown.at("/apiVersion") == "agentctl.dev/cli/v1"
    assert shown.at("/error/exitCode") == 2
    assert shown.at("/error/code") == "usage"


def test_a_wrong_command_names_the_nearest_one() -> None:
    assert "did you mean 'version'?" in run_cli("verison").expect(2).stderr


def test_a_wrong_option_names_the_nearest_one() -> None:
    assert "did you mean '--output'?" in run_cli("version", "--outptu", "json").expect(2).stderr


def test_the_global_options_stand_before_or_after_the_command() -> None:
    before = run_cli("--output", "json", "--color", "never", "version").expect(0)
    assert before.document == run_json("version").expect(0).document


def test_colour_never_writes_no_escape_byte() -> None:
    shown = run_cli("version", "--output", "human", "--color", "never").expect(0)
    assert "\x1b" not in shown.stdout
    assert "\x1b" not in run_cli("machines", "list", "--color", "never").expect(0).stdout


def test_colour_always_paints_errors() -> None:
    assert "\x1b[31m" in run_cli("--color", "always", "nothing").expect(2).stderr


def test_help_lists_every_command() -> None:
    shown = run_cli("--help").expect(0).stdout
    assert all(f"\n  {name} " in shown for name in COMMANDS)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_script(shell: str) -> None:
    assert "agentctl" in run_cli("completion", shell).expect(0).stdout


def test_the_completion_script_gets_its_answers() -> None:
    words = {"COMP_WORDS": "agentctl ver", "COMP_CWORD": "1"}
    asked = {"_AGENTCTL_COMPLETE": "complete_bash", **words}
    assert run_cli(env=asked).expect(0).stdout.split() == ["verify", "version"]


def test_nothing_is_written_to_a_closed_pipe_twice() -> None:
    program = [sys.executable, "-m", "agentctl", "machines", "show", "task"]
    with subprocess.Popen(
        program, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(), cwd=ROOT
    ) as started:
        assert started.stdout is not None
        assert started.stderr is not None
        started.stdout.close()
        errors = started.stderr.read()
    assert errors == b""


def test_version_imports_only_what_it_needs() -> None:
    heavy = _imported("version") & {
        "asyncio",
        "attr",
        "cattrs",
        "cryptography",
        "httpx",
        "jsonschema",
        "pydantic",
        "rich",
        "sqlite3",
        "ssl",
        "statemachine",
        "yaml",
    }
    assert heavy == set()


def _imported(*args: str) -> set[str]:
    code = (
        "import json, sys; from agentctl.cli.main import run; run(sys.argv[1:]); "
        "print(json.dumps(sorted(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *args],
        capture_output=True,
        check=True,
        text=True,
        env=environment(),
        cwd=ROOT,
    )
    modules: list[str] = json.loads(done.stderr.splitlines()[-1])
    return {name.partition(".")[0] for name in modules}


@pytest.mark.parametrize("form", ["mermaid", "dot", "svg", "md"])
def test_machines_are_drawn(form: str) -> None:
    shown = run_cli("machines", "draw", "task", "--format", form).expect(0).stdout
    assert "retry_scheduled" in shown


def test_a_machine_is_shown_with_its_moves() -> None:
    shown = run_json("machines", "show", "run").expect(0)
    assert shown.at("/data/initial") == "created"
    assert {"from": "created", "event": "start", "to": "running"} in shown.items("/data/moves")


def test_an_unknown_machine_names_the_nearest_one() -> None:
    assert run_json("machines", "show", "tasks").expect(2).at("/error/help") == (
        "did you mean 'task'?"
    )


def test_a_folder_is_no_workflow(tmp_path: Path) -> None:
    assert str(tmp_path) in run_json("check", str(tmp_path)).expect(2).text("/error/message")
