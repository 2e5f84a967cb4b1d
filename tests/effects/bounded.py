"""Running small programs under bounds, and looking at what they leave behind."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from agentctl.effects.processes.command import Command, Limits

MANY_BYTES = 1 << 20


def python(
    script: str,
    *arguments: str,
    folder: Path | None = None,
    stdin: bytes = b"",
    stdout_bytes: int = MANY_BYTES,
    stderr_bytes: int = MANY_BYTES,
    combined_bytes: int = 2 * MANY_BYTES,
) -> Command:
    """Return the command that runs a few lines of Python, with an empty environment."""
    return Command(
        program=sys.executable,
        arguments=("-I", "-S", "-c", script, *arguments),
        folder=str(folder or Path.cwd()),
        environment={},
        limits=Limits(
            stdout_bytes=stdout_bytes, stderr_bytes=stderr_bytes, combined_bytes=combined_bytes
        ),
        stdin=stdin,
    )


def is_alive(pid: int) -> bool:
    """Return whether a process exists and is more than a zombie."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


def children() -> list[int]:
    """Return this process's children, zombies among them."""
    found = []
    for one in Path("/proc").iterdir():
        if one.name.isdigit():
            try:
                parent = (one / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()[1]
            except (FileNotFoundError, ProcessLookupError):
                continue
            if int(parent) == os.getpid():
                found.append(int(one.name))
    return found


def descriptors() -> set[str]:
    """Return this process's open descriptors."""
    return set(os.listdir("/proc/self/fd"))
