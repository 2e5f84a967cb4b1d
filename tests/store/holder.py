"""A process that owns a run until it is told to go on.

    python holder.py DATABASE RUN start|claim

It prints `held`, waits for a line, and then ends the run. A request to cancel is printed as it
comes.
"""

from __future__ import annotations

import sys
from threading import Event

from agentctl.engine.apply import Work
from agentctl.store import open_store
from agentctl.testing import EPOCH
from tests.store.harness import new_run, started


def main() -> None:
    """Own the run, and end it when a line comes in."""
    path, run_id, command = sys.argv[1:]
    store = open_store(path)
    if command == "start":
        journal, run = started(store, new_run(run_id))
    else:
        journal, run = store.claim_run(run_id, store.clock.now()), store.load_run(run_id).run
    asked = Event()

    def tell(actor: str, reason: str) -> None:
        print(f"cancel {actor} {reason}", flush=True)
        asked.set()

    journal.on_cancel(tell)
    print("held", flush=True)
    sys.stdin.readline()
    work = Work()
    work.move(run, "succeed", EPOCH)
    journal.commit(work)
    journal.release()
    store.close()
    print("done", flush=True)


if __name__ == "__main__":
    main()
