"""Many small runs from the threads of one process, each thread with its own connection.

    python benchmarks/load_worker.py FOLDER THREADS RUNS

Every thread does RUNS runs of two tasks, one of them with an effect, in `FOLDER/load.db`. It
prints one JSON line with how long each commit took, from asking to knowing, in milliseconds.
An error that reaches a thread ends the process with exit code 1.
"""

from __future__ import annotations

import json
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from agentctl import Engine
from agentctl.testing import CrashPoint

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    T = TypeVar("T")

DATABASE = "load.db"
WORKFLOW = {
    "apiVersion": "agentctl.dev/v1",
    "kind": "Workflow",
    "metadata": {"name": "load"},
    "spec": {
        "policy": {"approval": "never"},
        "actions": {"assign": {"kind": "builtin.assign"}},
        "tasks": [
            {"id": "first", "uses": "action:assign", "with": {"number": 1}},
            {"id": "second", "uses": "action:work", "needs": ["first"], "with": {"number": 2}},
        ],
    },
}


class Stopwatch(CrashPoint):
    """Times every commit instead of crashing at one."""

    def __init__(self) -> None:
        super().__init__(at=0)
        self.waits_ms: list[float] = []

    def __call__(self, commit: Callable[[], T]) -> T:
        """Commit, and note how long it took."""
        start = time.perf_counter()
        result = commit()
        self.waits_ms.append((time.perf_counter() - start) * 1000)
        return result


def work(folder: Path, runs: int) -> list[float]:
    """Do the runs of one thread; return what its commits took."""
    watch = Stopwatch()
    with Engine(folder / DATABASE, workspace=folder, wrap_store=watch.watch) as engine:

        @engine.action("work", idempotency="keyed")
        async def answer(number: int, idempotency_key: str) -> dict[str, object]:
            return {"number": number, "key": idempotency_key}

        loaded = engine.load(WORKFLOW)
        for _ in range(runs):
            outcome = engine.start_sync(loaded)
            if outcome.exit_code:
                raise RuntimeError(f"run {outcome.run_id} ended as {outcome.state}")
    return watch.waits_ms


def main() -> None:
    """Work in all threads, and print what their commits took."""
    folder, threads, runs = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    with ThreadPoolExecutor(threads) as pool:
        waits = list(pool.map(work, [folder] * threads, [runs] * threads))
    print(json.dumps([wait for each in waits for wait in each]))


if __name__ == "__main__":
    main()
