"""Driving one run from the command line: an event loop, and signals that end it durably.

Above: the commands that move a run. Below: the engine. The first SIGINT or SIGTERM asks the
engine for a durable cancellation; the second ends the process at once.
"""

from __future__ import annotations

import asyncio
import os
import signal
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from agentctl.cli.console import Console
    from agentctl.door import Engine
    from agentctl.engine.records import RunHistory

T = TypeVar("T")

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_FORCED_EXIT_CODE = 130


def drive(console: Console, engine: Engine, work: Callable[[], Coroutine[object, object, T]]) -> T:
    """Run the work to its end under signal handling, and return what it returns."""
    return asyncio.run(_with_signals(console, engine, work))


async def _with_signals(
    console: Console, engine: Engine, work: Callable[[], Coroutine[object, object, T]]
) -> T:
    loop = asyncio.get_running_loop()
    seen: list[int] = []

    def stop(number: int) -> None:
        seen.append(number)
        if len(seen) > 1:
            os._exit(_FORCED_EXIT_CODE)
        name = signal.Signals(number).name
        console.note(f"{name}: cancelling; once more to leave at once")
        engine.interrupt(login(), f"signal {name}")

    for number in _SIGNALS:
        loop.add_signal_handler(number, stop, number)
    try:
        return await work()
    finally:
        for number in _SIGNALS:
            loop.remove_signal_handler(number)


def login() -> str:
    """Return the login name of whoever runs the program, for the journal."""
    for name in ("AGENTCTL_ACTOR", "LOGNAME", "USER"):
        value = os.environ.get(name)
        if value:
            return value
    return f"uid-{os.getuid()}"


def about(console: Console, engine: Engine, run_id: str) -> RunHistory:
    """Return a run's history, and let the errors that follow carry the run's ids.

    Raises UnknownRun.
    """
    history = engine.history(run_id)
    console.run_id = run_id
    console.trace_id = history.run.trace_id
    return history
