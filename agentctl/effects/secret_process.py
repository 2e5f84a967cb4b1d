"""Running a small program that prints a secret: bounded in time, output and surroundings.

Above: `effects.secrets`, which has asked the policy. Below: one subprocess in a session of its
own, with an empty environment, no input, and its error output thrown away, because that may
hold the secret as well. Source: specification, section 1.1 (secret).
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
from contextlib import suppress
from shutil import which
from time import monotonic
from typing import IO, TYPE_CHECKING, cast

from agentctl.errors import SecretMissing
from agentctl.limits import SECRET_BYTES_MAX

if TYPE_CHECKING:
    from agentctl.jsonvalue import JsonObject

_PIECE_BYTES = 64 << 10


def output_of(process: JsonObject, workspace: str) -> bytes:
    """Return what the program of a secret reference wrote to its standard output.

    Raises SecretMissing when it cannot start, fails, takes too long or writes too much.
    """
    command = cast("str", process["command"])
    what = f"the secret program {command!r}"
    limit_bytes = cast("int", process.get("outputLimitBytes") or SECRET_BYTES_MAX)
    timeout_seconds = cast("int", process.get("timeoutSeconds") or 5)
    started = _start(command, cast("list[str]", process.get("args") or []), workspace, what)
    output, is_over = None, False
    try:
        deadline = monotonic() + timeout_seconds
        output = _read(started, limit_bytes, deadline)
        is_over = output is not None and len(output) <= limit_bytes
        is_over = is_over and _has_ended(started, deadline)
    finally:
        code = _end(started)
    if output is not None and len(output) > limit_bytes:
        raise SecretMissing(f"{what} wrote more than its outputLimitBytes = {limit_bytes:,}")
    if output is None or not is_over:
        raise SecretMissing(f"{what} did not end within {timeout_seconds} s")
    if code:
        raise SecretMissing(f"{what} failed with exit code {code}")
    return output


def _start(
    command: str, arguments: list[str], workspace: str, what: str
) -> subprocess.Popen[bytes]:
    program = os.path.join(workspace, command) if "/" in command else which(command)
    if program is None:
        raise SecretMissing(f"{what} was not found on the search path")
    try:
        return subprocess.Popen(
            [command, *arguments],
            executable=program,
            cwd=workspace,
            env={},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it holds a NUL character"
        raise SecretMissing(f"{what} cannot be started: {reason}") from None


def _read(started: subprocess.Popen[bytes], limit_bytes: int, deadline: float) -> bytes | None:
    """Return the whole output, or one byte or more above the limit; None when time is over."""
    pipe = cast("IO[bytes]", started.stdout).fileno()
    output = bytearray()
    poll = select.poll()
    poll.register(pipe, select.POLLIN | select.POLLHUP)
    while len(output) <= limit_bytes:
        left_ms = (deadline - monotonic()) * 1000
        if left_ms <= 0 or not poll.poll(left_ms):
            return None
        piece = os.read(pipe, _PIECE_BYTES)
        if not piece:
            break
        output += piece
    return bytes(output)


def _has_ended(started: subprocess.Popen[bytes], deadline: float) -> bool:
    try:
        started.wait(max(deadline - monotonic(), 0))
    except subprocess.TimeoutExpired:
        return False
    return True


def _end(started: subprocess.Popen[bytes]) -> int:
    """Leave nothing behind: not the program, not its children, not the pipe."""
    with suppress(ProcessLookupError, PermissionError):
        # A group of nobody but its dead leader may not be signalled on every system.
        os.killpg(started.pid, signal.SIGKILL)
    cast("IO[bytes]", started.stdout).close()
    return started.wait()
