"""The synchronous twin of an asynchronous method, for scripts without an event loop.

Above: the door. Below: asyncio, imported only when a call needs a loop.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar

from agentctl.engine.waiting import drive_by_hand
from agentctl.errors import Bug

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

P = ParamSpec("P")
S = TypeVar("S")
T = TypeVar("T")


def blocking(
    call: Callable[Concatenate[S, P], Coroutine[object, object, T]], *, needs_loop: bool = True
) -> Callable[Concatenate[S, P], T]:
    """Return a method that drives `call` to its end; `needs_loop` is false if it never waits.

    The method raises Bug on a running event loop, where it would block everything else.
    """

    def twin(self: S, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return _run(call(self, *args, **kwargs), needs_loop=needs_loop)

    twin.__name__ = f"{call.__name__}_sync"
    twin.__qualname__ = f"{call.__qualname__}_sync"
    twin.__doc__ = f"Do what `{call.__name__}` does, from a script without an event loop."
    return twin


def _run(call: Coroutine[object, object, T], *, needs_loop: bool) -> T:
    if not needs_loop:
        return drive_by_hand(call)
    import asyncio

    if _loop_is_running():
        call.close()
        raise Bug("a …_sync call was made on a running event loop; await the async one instead")
    return asyncio.run(call)


def _loop_is_running() -> bool:
    import asyncio

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
