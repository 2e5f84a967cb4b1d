"""A process that runs one operation's script and kills itself inside that operation.

    python worker.py FOLDER OPERATION inside|after

`inside` is within the transaction that would keep the operation, `after` is between that
transaction and the run's own next commit.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from agentctl.store.entities import Entities
from tests.control.mutations import SCRIPTS
from tests.control.working import EVERYTHING, scripted
from tests.engine.harness import Bench

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentctl.engine.entities import EntityView, OperationKey, Performed


def kill() -> None:
    """Die as by a power cut: no handler, no cleanup."""
    os.kill(os.getpid(), signal.SIGKILL)


def die_at(operation: str, point: str, count: int) -> None:
    """Have the process die in the n-th call of an operation."""
    perform, made = Entities.perform, [0]

    def watched(
        self: Entities, key: OperationKey, act: Callable[[EntityView], Performed], now: int
    ) -> Any:
        made[0] += key.operation == operation
        is_it = key.operation == operation and made[0] == count

        def watched_act(view: EntityView) -> Performed:
            done = act(view)
            if is_it and point == "inside":
                kill()
            return done

        result = perform(self, key, watched_act, now)
        if is_it and point == "after":
            kill()
        return result

    cast("Any", Entities).perform = watched


def main(folder: str, operation: str, point: str) -> None:
    """Run an operation's script to the death."""
    bench = Bench(Path(folder))
    calls = SCRIPTS[operation](bench)
    die_at(operation, point, sum(name == operation for name, _ in calls))
    bench.run(scripted(*calls, **EVERYTHING))


if __name__ == "__main__":
    main(*sys.argv[1:])
