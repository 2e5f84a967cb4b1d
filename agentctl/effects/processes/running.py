"""One program run to its end under bounds, its whole process tree with it.

Above: the executors of programs. Below: `keeper.py`, which owns the tree. Both pipes are drained
as the program writes; whatever ends the wait (a bound, a cancellation, a deadline) has the tree
killed and reaped before this returns.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from attr import define, field, frozen

from agentctl.errors import EffectError
from agentctl.value import Value

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from agentctl.effects.processes.command import Command

_KEEPER: Final = str(Path(__file__).with_name("keeper.py"))
_CHUNK_BYTES: Final = 64 << 10


@frozen(kw_only=True, eq=False, repr=False)
class Finished(Value):
    """How a program ended: its exit code (negative for a signal) and what it printed.

    `overflow` names the limit that it passed, for which it was killed.
    """

    exit_code: int
    stdout: bytes
    stderr: bytes
    overflow: str | None = None


@define(eq=False, repr=False)
class Captured:
    """What a program has printed so far; alive also when it is killed in mid-flight."""

    stdout: bytearray = field(factory=bytearray)
    stderr: bytearray = field(factory=bytearray)
    pid: int | None = None
    overflow: str | None = None


async def run_bounded(
    command: Command,
    captured: Captured | None = None,
    started: Callable[[int], Awaitable[None]] | None = None,
) -> Finished:
    """Run a program to its end.

    `captured` is filled while it runs, for a caller that is cancelled; `started` is awaited with
    the program's process id. Raises EffectError when the program cannot be started, or when it
    vanished without a word of how it ended, which is ambiguous.
    """
    running = _Running(command, captured or Captured())
    try:
        await running.follow(started)
    finally:
        running.end()
    return running.finished()


class _Running:
    """The keeper's process and the four pipes to it."""

    def __init__(self, command: Command, captured: Captured) -> None:
        self.command = command
        self.captured = captured
        self._loop = asyncio.get_running_loop()
        self._messages = b""
        self._exit_code: int | None = None
        self._error: int | None = None
        self._open: dict[str, int] = {}
        self._over = asyncio.Event()
        self._begun = asyncio.Event()
        self._unsent = memoryview(command.stdin)
        self._process = self._launch()

    async def follow(self, started: Callable[[int], Awaitable[None]] | None) -> None:
        """Wait until the program has started and is over."""
        await self._begun.wait()
        if started is not None and self.captured.pid is not None:
            await started(self.captured.pid)
        await self._over.wait()

    def end(self) -> None:
        """Cut the lifeline, wait for the keeper to finish its work, and close everything."""
        self._close("lifeline")
        # The keeper kills with SIGKILL and closes its status last, so this is short.
        self._process.wait()
        for name in list(self._open):
            self._drain(name)
            self._close(name)

    def finished(self) -> Finished:
        """Return how it ended. Raises EffectError as `run_bounded` does."""
        kept = self.captured
        if self._error is not None:
            reason = os.strerror(self._error).lower()
            name = self.command.program
            raise EffectError(f"cannot run {name}: {reason}", code="process_missing")
        if self._exit_code is None and kept.overflow is None:
            raise EffectError(
                f"{self.command.program} was lost while it ran; it may have done its work",
                code="process_lost",
                retryable=True,
                ambiguous=True,
            )
        return Finished(
            exit_code=-9 if self._exit_code is None else self._exit_code,
            stdout=bytes(kept.stdout),
            stderr=bytes(kept.stderr),
            overflow=kept.overflow,
        )

    def _launch(self) -> subprocess.Popen[bytes]:
        theirs: dict[str, int] = {}
        for name in ("stdout", "stderr", "status"):
            self._open[name], theirs[name] = os.pipe()
        for name in ("stdin", "lifeline"):
            theirs[name], self._open[name] = os.pipe()
        try:
            process = self._start_keeper(theirs)
        except BaseException:
            for name in list(self._open):
                os.close(self._open.pop(name))
            raise
        finally:
            for descriptor in theirs.values():
                os.close(descriptor)
        for name in ("stdout", "stderr", "status"):
            os.set_blocking(self._open[name], False)
            self._loop.add_reader(self._open[name], self._read, name)
        os.set_blocking(self._open["stdin"], False)
        self._loop.add_writer(self._open["stdin"], self._write)
        return process

    def _start_keeper(self, theirs: dict[str, int]) -> subprocess.Popen[bytes]:
        command = self.command
        own = [sys.executable, "-I", "-S", _KEEPER, str(theirs["status"]), str(theirs["lifeline"])]
        try:
            return subprocess.Popen(
                [*own, command.program, *command.arguments],
                cwd=command.folder,
                env=dict(command.environment),
                stdin=theirs["stdin"],
                stdout=theirs["stdout"],
                stderr=theirs["stderr"],
                pass_fds=(theirs["status"], theirs["lifeline"]),
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            message = f"cannot run {command.program}: {reason.lower()}"
            raise EffectError(message, code="process_missing") from error

    def _read(self, name: str) -> None:
        """Take what a pipe holds; at its end stop listening."""
        try:
            data = os.read(self._open[name], _CHUNK_BYTES)
        except BlockingIOError:
            return
        if not data:
            self._close(name)
            self._settle(name)
        elif name == "status":
            self._hear(data)
        else:
            self._keep(name, data)

    def _hear(self, data: bytes) -> None:
        *lines, self._messages = (self._messages + data).split(b"\n")
        for line in lines:
            word, number = line.split()
            if word == b"pid":
                self.captured.pid = int(number)
            elif word == b"exit":
                self._exit_code = int(number)
            else:
                self._error = int(number)
        self._begun.set()

    def _keep(self, name: str, data: bytes) -> None:
        """Keep output up to the bounds; beyond them the program is killed."""
        kept, limits = self.captured, self.command.limits
        stream = kept.stdout if name == "stdout" else kept.stderr
        own = limits.stdout_bytes if name == "stdout" else limits.stderr_bytes
        both = len(kept.stdout) + len(kept.stderr)
        room = max(min(own - len(stream), limits.combined_bytes - both), 0)
        stream += data[:room]
        if len(data) > room and kept.overflow is None:
            passed = f"{name}LimitBytes" if own - len(stream) <= 0 else "combinedOutputLimitBytes"
            kept.overflow = passed
            self._close("lifeline")

    def _settle(self, name: str) -> None:
        """Note an end: the keeper closes its status when nothing of the tree is left."""
        if name == "status":
            self._begun.set()
            self._over.set()

    def _write(self) -> None:
        """Give the program its input as it reads; one that does not read is left alone."""
        if self._unsent:
            try:
                sent = os.write(self._open["stdin"], self._unsent[:_CHUNK_BYTES])
            except BlockingIOError:
                return
            except OSError:
                sent = len(self._unsent)
            self._unsent = self._unsent[sent:]
        if not self._unsent:
            self._close("stdin")

    def _drain(self, name: str) -> None:
        """Take what is still in a pipe whose writers are all gone."""
        if name in ("stdin", "lifeline"):
            return
        while name in self._open:
            before = len(self.captured.stdout) + len(self.captured.stderr) + len(self._messages)
            self._read(name)
            after = len(self.captured.stdout) + len(self.captured.stderr) + len(self._messages)
            if before == after and name in self._open:
                return

    def _close(self, name: str) -> None:
        descriptor = self._open.pop(name, None)
        if descriptor is None:
            return
        if name == "stdin":
            self._loop.remove_writer(descriptor)
        elif name != "lifeline":
            self._loop.remove_reader(descriptor)
        with suppress(OSError):
            os.close(descriptor)
