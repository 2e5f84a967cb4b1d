"""Coroutines that need no event loop.

A run without effects never waits for anything, and loading asyncio would be a good part of its
time. Such a run is a coroutine that only pauses; it can be driven by hand, or by any loop.
"""

from __future__ import annotations

from types import coroutine
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Coroutine, Generator

T = TypeVar("T")


@coroutine
def pause() -> Generator[None, None, None]:
    """Give whoever drives this coroutine a chance to do something else."""
    yield


def drive_by_hand(work: Coroutine[object, object, T]) -> T:
    """Run a coroutine that at most pauses to its end, without an event loop."""
    while True:
        try:
            work.send(None)
        except StopIteration as end:
            result: T = end.value
            return result
