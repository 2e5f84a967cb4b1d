"""A run that is killed at any commit or dispatch goes on and repeats nothing.

The worker is a real process and the kill is SIGKILL. Keyed work leaves each mark exactly once;
at-most-once work leaves at most one mark, and where its result was lost the run waits with an
uncertain effect instead of trying again.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import cast

import pytest

from agentctl import Engine, StateError, UncertainEffect
from agentctl.store.verify import verify_run

WORKER = Path(__file__).with_name("worker.py")
KEYED = {"left", "middle", "right", "again-0", "again-1", "again-2", "ship", "after"}
COMMITS = 8
CALLS = 9


def work(folder: Path, command: str, point: str = "none") -> subprocess.CompletedProcess[str]:
    """Run the worker to its end or its death."""
    return subprocess.run(
        [sys.executable, str(WORKER), str(folder), command, point],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def marks(folder: Path) -> Counter[str]:
    """Count what was left outside, by line."""
    path = folder / "marks.txt"
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    return Counter(line.split()[0] for line in text.splitlines())


def points() -> list[str]:
    """Return every point that the worker can die at."""
    commits = [f"commit-{when}:{n}" for n in range(1, COMMITS + 1) for when in ("before", "after")]
    calls = [f"dispatch-{when}:{n}" for n in range(1, CALLS + 1) for when in ("before", "after")]
    return commits + calls


def test_the_worker_commits_and_calls_as_often_as_the_points_say(tmp_path: Path) -> None:
    """The list of crash points is complete: no commit and no dispatch is left out."""
    done = json.loads(work(tmp_path, "run").stdout)
    assert done == {
        "state": "succeeded",
        "output": {"memo": "kept"},
        "commits": COMMITS,
        "calls": CALLS,
    }
    assert marks(tmp_path) == Counter({*KEYED, "once"})


@pytest.mark.parametrize("point", points())
def test_a_killed_run_goes_on_and_repeats_nothing(tmp_path: Path, point: str) -> None:
    """Kill once, resume, and count the marks."""
    killed = work(tmp_path, "run", point)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    with Engine(tmp_path / "state.db") as engine:
        runs = engine.store.list_runs()
        if not runs:
            assert point == "commit-before:1"
            assert marks(tmp_path) == Counter()
            return
        run_id = runs[0].id
        resumed = work(tmp_path, "resume")
        history = engine.history(run_id)
        uncertain = [effect for effect in history.effects if effect.state == "uncertain"]
        assert verify_run(engine.store, run_id) == []
    found = marks(tmp_path)
    assert all(count == 1 for count in found.values()), found
    if uncertain:
        assert [effect.task_id for effect in uncertain] == ["once"]
        assert history.run.state == "paused"
        refused = work(tmp_path, "resume")
        assert "UncertainEffect" in refused.stderr
        assert marks(tmp_path) == found
    elif history.run.state == "succeeded":
        assert set(found) == {*KEYED, "once"}
        assert cast("dict[str, str]", history.run.output) == {"memo": "kept"}
    else:
        pytest.fail(f"{history.run.state}: {resumed.stderr}")


def test_a_run_that_is_over_cannot_be_resumed(tmp_path: Path) -> None:
    """Resuming a finished run is refused by name."""
    work(tmp_path, "run")
    again = work(tmp_path, "resume")
    assert StateError.__name__ in again.stderr
    assert UncertainEffect.__name__ not in again.stderr
