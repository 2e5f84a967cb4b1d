"""Removes every run that is over, and kills itself before the statement with a given number.

    python -m tests.store.gc_worker DATABASE NUMBER

It leaves with 0 when it came to its end.
"""

from __future__ import annotations

import os
import signal
import sys

from agentctl.store import open_store
from agentctl.store.retention import Selection, collect_runs


def main(database: str, number: int) -> None:
    """Collect, and die on the way."""
    store = open_store(database)
    seen = 0

    def count(statement: str) -> None:
        nonlocal seen
        if not statement.startswith("PRAGMA"):
            seen += 1
        if seen == number:
            os.kill(os.getpid(), signal.SIGKILL)

    store.database.connection.set_trace_callback(count)
    collect_runs(store, Selection(), store.clock.now())


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
