"""A process that runs or resumes one effect and is killed at one exact point of its life.

    python matrix_worker.py FOLDER run|resume IDEMPOTENCY POINT

POINT is one of `POINTS`, or `none`. The outside world is `FOLDER/outside.txt`: every effect
appends one line, which is on the disk before the effect returns. `FOLDER/calls.txt` gets a line
whenever the executor is entered.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from agentctl import Engine
from agentctl.testing import CrashPoint

if TYPE_CHECKING:
    from agentctl.engine.records import Idempotency

# The first commit stores the run with its look around; the second holds the request of the
# effect and its start, and the third its result.
REQUEST, RECORD = 2, 3
BEFORE_REQUEST = "before the request"
AFTER_REQUEST = "after the request"
AFTER_DISPATCH = "after the dispatch"
AFTER_EFFECT = "after the effect"
AFTER_RECORD = "after the record"
POINTS = (BEFORE_REQUEST, AFTER_REQUEST, AFTER_DISPATCH, AFTER_EFFECT, AFTER_RECORD)


def kill() -> None:
    """Die as by a power cut: no handler, no cleanup."""
    os.kill(os.getpid(), signal.SIGKILL)


def append(path: Path, line: str) -> None:
    """Add one line that survives whatever comes next."""
    with path.open("a", encoding="utf-8") as file:
        file.write(f"{line}\n")
        file.flush()
        os.fsync(file.fileno())


def lines(path: Path) -> list[str]:
    """Return the lines of a file that may not be there."""
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


def document() -> dict[str, Any]:
    """Return a look around that leaves no mark, the effect, and a task that uses its result."""
    return {
        "apiVersion": "agentctl.dev/v1",
        "kind": "Workflow",
        "metadata": {"name": "matrix"},
        "spec": {
            "policy": {"approval": "never"},
            "actions": {"keep": {"kind": "builtin.assign"}},
            "tasks": [
                {"id": "look", "uses": "action:look"},
                {"id": "act", "uses": "action:act", "needs": ["look"]},
                {"id": "look-again", "uses": "action:look", "needs": ["act"]},
                {
                    "id": "keep",
                    "uses": "action:keep",
                    "needs": ["look-again"],
                    "with": {"done": "${{ tasks.act.output.done }}"},
                },
            ],
            "outputs": {"done": "${{ tasks.keep.output.output.done }}"},
        },
    }


def register(engine: Engine, folder: Path, idempotency: Idempotency, point: str) -> None:
    """Register the effect, which dies where it is told to, and the look around."""
    outside = folder / "outside.txt"

    @engine.action("look", idempotency="pure")
    async def look() -> dict[str, bool]:
        return {}

    @engine.action("act", idempotency=idempotency)
    async def act(idempotency_key: str) -> dict[str, bool]:
        append(folder / "calls.txt", idempotency_key)
        if point == AFTER_DISPATCH:
            kill()
        # The receiver of a keyed request knows what it has done already.
        if idempotency != "keyed" or idempotency_key not in lines(outside):
            append(outside, idempotency_key)
        if point == AFTER_EFFECT:
            kill()
        return {"done": True}


def crash_of(point: str) -> CrashPoint:
    """Return the commit around which to die; none for the points inside the executor."""
    at = {BEFORE_REQUEST: REQUEST, AFTER_REQUEST: REQUEST, AFTER_RECORD: RECORD}.get(point, 0)
    return CrashPoint(at=at, after=point != BEFORE_REQUEST, crash=kill)


def main() -> None:
    """Run or resume; the exit code is the run's."""
    folder, command, idempotency, point = Path(sys.argv[1]), *sys.argv[2:]
    crash = crash_of(point)
    with Engine(folder / "state.db", workspace=folder, wrap_store=crash.watch) as engine:
        register(engine, folder, cast("Idempotency", idempotency), point)
        if command == "run":
            outcome = engine.start_sync(engine.load(document()))
        else:
            (run,) = engine.store.list_runs()
            outcome = engine.resume_sync(run.id)
    sys.exit(outcome.exit_code)


if __name__ == "__main__":
    main()
