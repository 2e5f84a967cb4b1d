"""A compensation that is killed at any point is completed, and undoes nothing twice.

Each case is a real process and a real SIGKILL. What the ledger of the compensation confirmed is
found in the source afterwards, whichever of the two was written last.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest

from agentctl import Engine
from agentctl.machines.sets import RUN_FINAL
from agentctl.store.verify import verify_run
from tests.crash import undo_worker
from tests.crash.matrix_worker import lines

if TYPE_CHECKING:
    from agentctl.engine.records import RunHistory, RunMode
    from agentctl.jsonvalue import JsonObject

WORKER = Path(undo_worker.__file__)
ROOT = WORKER.parents[2]
COMMITS = 5
CALLS = 2
BOTH = ["second", "first"]
POINTS = [
    *(f"commit-{when}:{n}" for n in range(1, COMMITS + 1) for when in ("before", "after")),
    *(f"inverse-{when}:{n}" for n in range(1, CALLS + 1) for when in ("before", "after")),
]


def work(
    folder: Path, command: str, idempotency: str = "keyed", point: str = "none"
) -> subprocess.CompletedProcess[str]:
    """Run the worker to its end or its death."""
    return subprocess.run(
        [sys.executable, str(WORKER), str(folder), command, idempotency, point],
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )


def said(done: subprocess.CompletedProcess[str]) -> JsonObject:
    """Return what a worker that lived to its end counted."""
    assert done.returncode == 0, done.stderr
    return cast("JsonObject", json.loads(done.stdout))


def runs(folder: Path, mode: RunMode) -> list[RunHistory]:
    """Return the runs of one mode, each proved whole, oldest first."""
    with Engine(folder / "state.db") as engine:
        found = [one for one in reversed(engine.store.list_runs()) if one.mode == mode]
        for one in found:
            assert verify_run(engine.store, one.id) == []
        return [engine.history(one.id) for one in found]


def findings(folder: Path) -> dict[str, str]:
    """Return what the source says of its effects."""
    (source,) = runs(folder, "run")
    return {one.effect_name: one.state for one in source.reconciliations}


def test_the_points_are_all_that_a_compensation_commits_and_calls(tmp_path: Path) -> None:
    assert said(work(tmp_path, "fail"))["state"] == "failed"
    done = said(work(tmp_path, "compensate"))
    assert done == {"state": "succeeded", "commits": COMMITS, "calls": CALLS}
    assert lines(tmp_path / "undone.txt") == BOTH
    assert findings(tmp_path) == {"first/1.0": "compensated", "second/1.0": "compensated"}


@pytest.mark.parametrize("point", POINTS)
def test_a_killed_compensation_is_completed_and_undoes_nothing_twice(
    tmp_path: Path, point: str
) -> None:
    work(tmp_path, "fail")
    assert work(tmp_path, "compensate", "keyed", point).returncode == -signal.SIGKILL
    begun = runs(tmp_path, "compensation")
    if begun and begun[0].run.state not in RUN_FINAL:
        assert said(work(tmp_path, "compensate"))["state"] == "compensation_blocked"
        assert said(work(tmp_path, "resume"))["state"] == "succeeded"
    again = said(work(tmp_path, "compensate"))
    assert again["state"] == ("compensation_blocked" if begun else "succeeded")
    assert lines(tmp_path / "undone.txt") == BOTH
    assert findings(tmp_path) == {"first/1.0": "compensated", "second/1.0": "compensated"}
    (only,) = runs(tmp_path, "compensation")
    assert len(only.effects) == CALLS


@pytest.mark.parametrize("point", ["inverse-before:1", "inverse-after:1"])
def test_an_inverse_that_may_have_happened_is_never_run_again_in_silence(
    tmp_path: Path, point: str
) -> None:
    work(tmp_path, "fail", "at_most_once")
    killed = work(tmp_path, "compensate", "at_most_once", point)
    assert killed.returncode == -signal.SIGKILL
    happened = lines(tmp_path / "undone.txt") == ["second"]
    assert said(work(tmp_path, "compensate", "at_most_once"))["state"] == "compensation_blocked"
    assert said(work(tmp_path, "resume", "at_most_once"))["state"] == "paused"
    (compensation,) = runs(tmp_path, "compensation")
    with Engine(tmp_path / "state.db") as engine:
        engine.reconcile(
            compensation.run.id,
            "second/1.0",
            status="applied" if happened else "not_applied",
            actor="ada",
            reason="looked",
            result={} if happened else None,
        )
    assert said(work(tmp_path, "resume", "at_most_once"))["state"] == "succeeded"
    assert lines(tmp_path / "undone.txt") == BOTH
    assert findings(tmp_path) == {"first/1.0": "compensated", "second/1.0": "compensated"}
