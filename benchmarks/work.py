"""One measured piece of work in a process of its own; prints one JSON line.

    python benchmarks/work.py raw DIR N
    python benchmarks/work.py sequential-pure|sequential-effect|fan-pure|fan-effect DIR N
    python benchmarks/work.py prepare DIR N      # N effects confirmed, then the process dies
    python benchmarks/work.py resume DIR N       # seconds from imports done to effect N + 1

Imports and compilation are not part of `seconds`; creating, running and ending the run are.
"""

from __future__ import annotations

import asyncio
import json
import os
import resource
import sqlite3
import sys
import time
from pathlib import Path

# What a run imports late is imported here, since imports are not part of the figures.
import agentctl.effects.functions
import agentctl.effects.registry
import agentctl.effects.secrets
import agentctl.engine.credentials
import agentctl.engine.destinations
import agentctl.engine.dispatch
import agentctl.engine.operations.once
import agentctl.engine.operations.resume
import agentctl.engine.operations.start
import agentctl.engine.programs.actions
import agentctl.store  # noqa: F401
from agentctl import Engine

# What peers are given too: a small JSON answer per step.
TEXT = "a step's answer"


def main() -> None:
    """Do the work named on the command line."""
    name, folder, count = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
    folder.mkdir(parents=True, exist_ok=True)
    result = raw(folder, count) if name == "raw" else asyncio.run(SCENARIOS[name](folder, count))
    result["peakMemoryMiB"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps(result))


def raw(folder: Path, count: int) -> dict[str, float]:
    """Commit `count` single INSERTs, write-ahead log, synchronous FULL."""
    connection = sqlite3.connect(folder / "raw.db", isolation_level=None)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("CREATE TABLE step (i INTEGER PRIMARY KEY, body TEXT, at REAL)")
    body = json.dumps({"i": 1, "ok": True, "text": TEXT})
    start = time.perf_counter()
    for number in range(count):
        connection.execute("INSERT INTO step VALUES (?, ?, 1.5)", (number, body))
    seconds = time.perf_counter() - start
    connection.close()
    return {"seconds": seconds}


def workflow(count: int, uses: str, *, chain: bool, concurrency: int = 1) -> dict[str, object]:
    """Return a workflow of `count` like tasks, in a chain or side by side."""
    tasks = [
        {
            "id": f"step-{number}",
            "uses": f"action:{uses}",
            "needs": [f"step-{number - 1}"] if chain and number else [],
            "with": {"i": number},
        }
        for number in range(count)
    ]
    return {
        "apiVersion": "agentctl.dev/v1",
        "kind": "Workflow",
        "metadata": {"name": "benchmark"},
        "spec": {
            "runtime": {"maxConcurrency": concurrency},
            "policy": {"approval": "never"},
            "actions": {"assign": {"kind": "builtin.assign"}},
            "tasks": tasks,
        },
    }


def engine_in(folder: Path) -> Engine:
    """Return an engine with the one external effect that is measured."""
    engine = Engine(folder / "agentctl.db", workspace=folder)

    @engine.action("work", idempotency="at_most_once")
    async def work(i: int) -> dict[str, object]:
        return {"i": i, "ok": True, "text": TEXT}

    return engine


async def run(folder: Path, document: dict[str, object]) -> dict[str, float]:
    """Run a document and measure the run alone."""
    with engine_in(folder) as engine:
        loaded = engine.load(document)
        _ = engine.store
        start = time.perf_counter()
        outcome = await engine.start(loaded)
        seconds = time.perf_counter() - start
        assert outcome.exit_code == 0, outcome
    size = (folder / "agentctl.db").stat().st_size
    return {"seconds": seconds, "bytes": size}


async def sequential_pure(folder: Path, count: int) -> dict[str, float]:
    """Run a chain of pure tasks."""
    return await run(folder, workflow(count, "assign", chain=True))


async def sequential_effect(folder: Path, count: int) -> dict[str, float]:
    """Run a chain of tasks with one external effect each."""
    return await run(folder, workflow(count, "work", chain=True))


async def fan_pure(folder: Path, count: int) -> dict[str, float]:
    """Run independent pure tasks."""
    return await run(folder, workflow(count, "assign", chain=False, concurrency=64))


async def fan_effect(folder: Path, count: int) -> dict[str, float]:
    """Run independent tasks with one external effect each."""
    return await run(folder, workflow(count, "work", chain=False, concurrency=64))


async def prepare(folder: Path, count: int) -> dict[str, float]:
    """Confirm `count` effects and die inside the next one."""
    engine = Engine(folder / "agentctl.db", workspace=folder)

    @engine.action("work", idempotency="idempotent")
    async def work(i: int) -> dict[str, object]:
        if i == count:
            os._exit(0)
        return {"i": i, "ok": True, "text": TEXT}

    await engine.start(engine.load(workflow(count + 1, "work", chain=True)))
    return {}


async def resume(folder: Path, count: int) -> dict[str, float]:
    """Measure from the end of imports to the body of the first task that is not done."""
    start = time.perf_counter()
    engine = Engine(folder / "agentctl.db", workspace=folder)
    reached: list[float] = []

    @engine.action("work", idempotency="idempotent")
    async def work(i: int) -> dict[str, object]:
        assert i == count
        reached.append(time.perf_counter() - start)
        return {"i": i, "ok": True, "text": TEXT}

    (run,) = engine.store.list_runs()
    outcome = await engine.resume(run.id)
    assert outcome.exit_code == 0, outcome
    engine.close()
    return {"seconds": reached[0]}


SCENARIOS = {
    "sequential-pure": sequential_pure,
    "sequential-effect": sequential_effect,
    "fan-pure": fan_pure,
    "fan-effect": fan_effect,
    "prepare": prepare,
    "resume": resume,
}

if __name__ == "__main__":
    main()
