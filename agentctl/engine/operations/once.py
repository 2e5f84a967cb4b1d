"""Start at most one run under a key, however often and from wherever it is asked for.

Above: the embedded door. Below: the store, whose first commit of a run also takes the key: a
start that is killed before it has left nothing, and one that is killed after it has left its run.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from attr import evolve

from agentctl.engine.finish import stored_outcome
from agentctl.errors import AlreadyStarted, UsageError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from agentctl.engine.events import RunOutcome
    from agentctl.engine.operations.start import StartRequest
    from agentctl.engine.ports import Store

KEY_CHARACTERS_MAX = 255


async def start_once(
    request: StartRequest, store: Store, start: Callable[[], Awaitable[RunOutcome]]
) -> RunOutcome:
    """Return the outcome of the run under the request's key, starting it if there is none.

    A run that exists is only looked at: it is not resumed. Raises UsageError for a key that
    cannot be one, StartKeyReused when its run was asked for with something else, and what
    `start` raises.
    """
    while (found := started(request, store)) is None:
        # Somebody else may be quicker between the look and the commit.
        with suppress(AlreadyStarted):
            return await start()
    return found


def started(request: StartRequest, store: Store | None) -> RunOutcome | None:
    """Return the outcome of the run under the request's key; None without one, or without a store.

    Raises UsageError for a key that cannot be one, and StartKeyReused when its run was asked for
    with something else.
    """
    key = request.key
    assert key is not None
    if not 0 < len(key) <= KEY_CHARACTERS_MAX or not key.isprintable():
        raise UsageError(
            f"a start key has 1 to {KEY_CHARACTERS_MAX} printable characters, not {key!r}"
        )
    run_id = None if store is None else store.started_under(key, request.digest)
    if store is None or run_id is None:
        return None
    return evolve(stored_outcome(store.load_run(run_id)), existing=True)
