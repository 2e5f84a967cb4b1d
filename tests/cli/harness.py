"""Running the program in a process of its own, with its output parsed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, cast

from attr import field, frozen

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentctl.jsonvalue import JsonObject, JsonValue

ROOT = Path(__file__).parents[2]
SHARED = ROOT / ".." / "shared"
EXAMPLES = (SHARED / "examples").resolve()
TIMEOUT_SECONDS = 60


@frozen
class Result:
    """What one invocation did."""

    exit_code: int
    stdout: str
    stderr: str
    args: tuple[str, ...] = field(repr=False, default=())

    @property
    def document(self) -> JsonObject:
        """The one JSON document of standard output, else of standard error."""
        text = self.stdout if self.stdout.strip() else self.stderr
        return cast("JsonObject", json.loads(text))

    @property
    def lines(self) -> list[JsonObject]:
        """The JSON documents of standard output, one a line."""
        return [json.loads(line) for line in self.stdout.splitlines()]

    def at(self, path: str) -> JsonValue:
        """Return the value at a slash-separated path such as `/data/tasks/0/state`."""
        value: JsonValue = self.document
        for part in path.strip("/").split("/"):
            value = (
                value[int(part)] if isinstance(value, list) else cast("JsonObject", value)[part]
            )
        return value

    def text(self, path: str) -> str:
        """Return the text at a path."""
        value = self.at(path)
        assert isinstance(value, str), f"{path} is {value!r}"
        return value

    def items(self, path: str) -> list[JsonObject]:
        """Return the list of objects at a path."""
        value = self.at(path)
        assert isinstance(value, list), f"{path} is {value!r}"
        return cast("list[JsonObject]", value)

    def expect(self, exit_code: int) -> Result:
        """Return the result itself if it left with this code; say everything otherwise."""
        assert self.exit_code == exit_code, (
            f"{' '.join(self.args)}: exit {self.exit_code}, not {exit_code}\n"
            f"{self.stdout}\n{self.stderr}"
        )
        return self


def start_cli(
    *args: str, cwd: Path | None = None, env: Mapping[str, str] | None = None
) -> subprocess.Popen[str]:
    """Start the program and return its process."""
    return subprocess.Popen(
        [sys.executable, "-m", "agentctl", *args],
        cwd=cwd,
        env=environment(env),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(process: subprocess.Popen[str], *args: str) -> Result:
    """Wait for a started program and return what it did."""
    stdout, stderr = process.communicate(timeout=TIMEOUT_SECONDS)
    return Result(process.returncode, stdout, stderr, args)


def run_cli(*args: str, cwd: Path | None = None, env: Mapping[str, str] | None = None) -> Result:
    """Run the program to its end."""
    return finish(start_cli(*args, cwd=cwd, env=env), *args)


def run_json(*args: str, cwd: Path | None = None, env: Mapping[str, str] | None = None) -> Result:
    """Run the program with JSON output and without colours."""
    return run_cli(*args, "--output", "json", "--color", "never", cwd=cwd, env=env)


def environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return a small environment that finds the package and holds no credential."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    return {**kept, "PYTHONPATH": str(ROOT), **(extra or {})}
