"""Functions that a process of its own imports from here."""

from __future__ import annotations

import os
from pathlib import Path

from agentctl.errors import EffectError


def square(number: int, idempotency_key: str) -> dict[str, object]:
    """Return a square, and which process made it."""
    print("computing")
    return {"square": number * number, "pid": os.getpid(), "key": idempotency_key}


async def square_later(number: int) -> int:
    """Return a square from a coroutine."""
    return number * number


def spin(note: str) -> None:
    """Compute for ever, once a child of it does the same."""
    if os.fork() == 0:
        os.setsid()
        while True:
            pass
    Path(note).write_text(str(os.getpid()), encoding="ascii")
    while True:
        pass


def doubt() -> None:
    """Fail in doubt."""
    raise EffectError("who knows", code="custom", ambiguous=True, detail={"seen": 1})


def break_off() -> None:
    """End without a word."""
    os._exit(3)


def nothing() -> object:
    """Return what JSON cannot hold."""
    return object()
