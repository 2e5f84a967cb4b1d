"""Running a small program that prints a secret: bounded in time, output and surroundings.

Above: `effects.secrets`, which has asked the policy. Below: one subprocess in a session of its
own, with an empty environment, no input, and its error output thrown away, because that may
hold the secret as well. Source: specification, section 1.1 (secret).
"""

from __future__ import annotations

import asyncio
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

_TIMEOUT_SECONDS = 5


async def output_of(process: JsonObject, workspace: str) -> bytes:
    """Return what the program of a secret reference wrote to its standard output.

    Raises SecretMissing when it cannot start, fails, takes too long or writes too much.
    """
    command = cast("str", process["command"])
    what = f"the secret program {command!r}"
    limit_bytes = cast("int", process.get("outputLimitBytes") or SECRET_BYTES_MAX)
    seconds = cast("int", process.get("timeoutSeconds") or _TIMEOUT_SECONDS)
    started = _start(command, cast("list[str]", process.get("args") or []), workspace)
    loop = asyncio.get_running_loop()
    drained = loop.run_in_executor(None, _drain, started, limit_bytes, seconds)
    try:
        # The thread cleans up in any case, so a cancellation may not keep it from starting.
        output, code = await asyncio.shield(drained)
    except asyncio.CancelledError:
        _kill(started)
        raise
    if len(output) > limit_bytes:
        raise SecretMissing(f"{what} wrote more than outputLimitBytes = {limit_bytes:,}")
    if code is None:
        raise SecretMissing(f"{what} did not end within {seconds} s")
    if code:
        raise SecretMissing(f"{what} ended with exit code {code}")
    return output


def find_program(command: str, workspace: str) -> str:
    """Return a program's path: below the workspace, or by the search path for a bare name.

    Raises SecretMissing when there is none that may be run.
    """
    if "/" not in command:
        found = which(command)
    else:
        path = os.path.join(workspace, command)
        found = path if os.path.isfile(path) and os.access(path, os.X_OK) else None
    if found is None:
        raise SecretMissing(f"the secret program {command!r} was not found, or cannot be run")
    return found


def _start(command: str, arguments: list[str], workspace: str) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            [find_program(command, workspace), *arguments],
            cwd=workspace,
            env={},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it holds a NUL character"
        raise SecretMissing(
            f"the secret program {command!r} cannot be started: {reason}"
        ) from None


def _drain(
    started: subprocess.Popen[bytes], limit_bytes: int, seconds: float
) -> tuple[bytes, int | None]:
    """Return the output, or a byte more than allowed, and the exit code; None is too late."""
    deadline = monotonic() + seconds
    code = None
    try:
        output, is_whole = _read(started, limit_bytes, deadline)
        if is_whole:
            with suppress(subprocess.TimeoutExpired):
                code = started.wait(max(deadline - monotonic(), 0))
        return output, code
    finally:
        _kill(started)
        started.wait()
        cast("IO[bytes]", started.stdout).close()


def _read(
    started: subprocess.Popen[bytes], limit_bytes: int, deadline: float
) -> tuple[bytes, bool]:
    """Return what was written in time, and whether that is all."""
    pipe = cast("IO[bytes]", started.stdout).fileno()
    poll = select.poll()
    poll.register(pipe, select.POLLIN | select.POLLHUP)
    output = bytearray()
    while len(output) <= limit_bytes:
        left_ms = (deadline - monotonic()) * 1000
        if left_ms <= 0 or not poll.poll(left_ms):
            return bytes(output), False
        piece = os.read(pipe, limit_bytes + 1 - len(output))
        if not piece:
            return bytes(output), True
        output += piece
    return bytes(output), False


def _kill(started: subprocess.Popen[bytes]) -> None:
    """End the program and what it started; a group of only the dead may not be signalled."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(started.pid, signal.SIGKILL)
