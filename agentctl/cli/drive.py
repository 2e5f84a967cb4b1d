"""Driving one run from the command line: an event loop, and signals that end it durably.

Above: the commands that move a run. Below: the engine. The first SIGINT or SIGTERM asks the
engine for a durable cancellation; the second ends the process at once.
"""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING, Protocol, TypeVar

from agentctl.engine.waiting import drive_by_hand

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from agentctl.cli.console import Console
    from agentctl.door import Engine
    from agentctl.engine.records import RunHistory

T = TypeVar("T")


class Interruptible(Protocol):
    """Whatever moves runs and can be asked to end them durably."""

    def interrupt(self, actor: str, reason: str) -> None:
        """Ask for a durable cancellation."""
        ...


_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_FORCED_EXIT_CODE = 130


def drive(
    console: Console,
    engine: Interruptible,
    work: Callable[[], Coroutine[object, object, T]],
    *,
    needs_loop: bool = True,
) -> T:
    """Run the work to its end under signal handling, and return what it returns."""
    stop = _stopper(console, engine)
    if needs_loop:
        import asyncio

        return asyncio.run(_on_a_loop(work, stop))
    return _by_hand(work, stop)


def _stopper(console: Console, engine: Interruptible) -> Callable[[int], None]:
    """Return what a signal does: ask for an end, and the second time make one."""
    seen: list[int] = []

    def stop(number: int) -> None:
        seen.append(number)
        if len(seen) > 1:
            os._exit(_FORCED_EXIT_CODE)
        name = signal.Signals(number).name
        console.note(f"{name}: cancelling; once more to leave at once")
        engine.interrupt(login(), f"signal {name}")

    return stop


async def _on_a_loop(
    work: Callable[[], Coroutine[object, object, T]], stop: Callable[[int], None]
) -> T:
    import asyncio

    loop = asyncio.get_running_loop()
    for number in _SIGNALS:
        loop.add_signal_handler(number, stop, number)
    try:
        return await work()
    finally:
        for number in _SIGNALS:
            loop.remove_signal_handler(number)


def _by_hand(work: Callable[[], Coroutine[object, object, T]], stop: Callable[[int], None]) -> T:
    before = {number: signal.signal(number, lambda one, _: stop(one)) for number in _SIGNALS}
    try:
        return drive_by_hand(work())
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


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
