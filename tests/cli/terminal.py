"""The program on a terminal of its own, and somebody who answers it."""

from __future__ import annotations

import os
import select
import subprocess
import sys
from typing import TYPE_CHECKING

from tests.cli.harness import TIMEOUT_SECONDS, environment

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    Answer = str | bytes | Callable[[], str]

CTRL_C, CTRL_D = b"\x03", b"\x04"


def talk(folder: Path, *args: str, answers: Sequence[tuple[str, Answer]]) -> tuple[int, str]:
    """Run the program on a terminal: wait for each text, then type what belongs to it.

    An answer that is a function is called once its text has come.
    """
    mine, theirs = os.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "agentctl", *args, "--color", "never"],
        cwd=folder,
        env=environment({"TERM": "dumb"}),
        preexec_fn=lambda: os.login_tty(theirs),
    )
    os.close(theirs)
    try:
        shown = _converse(mine, answers)
    finally:
        os.close(mine)
        if process.poll() is None and sys.exc_info()[0] is not None:
            process.kill()
    return process.wait(TIMEOUT_SECONDS), shown


def _converse(terminal: int, answers: Sequence[tuple[str, Answer]]) -> str:
    whole = ""
    told = 0
    for expected, answer in answers:
        while (place := whole.find(expected, told)) < 0:
            more = _read(terminal)
            assert more, f"{expected!r} never came:\n{whole}"
            whole += more
        told = place + len(expected)
        typed = answer if isinstance(answer, str | bytes) else answer()
        os.write(terminal, typed if isinstance(typed, bytes) else f"{typed}\n".encode())
    while more := _read(terminal):
        whole += more
    return whole


def _read(terminal: int) -> str:
    """Return what came, or nothing once the program has closed its side, or says no more."""
    if not select.select([terminal], [], [], TIMEOUT_SECONDS)[0]:
        return ""
    try:
        return os.read(terminal, 1 << 16).decode("utf-8", "replace")
    except OSError:
        return ""
