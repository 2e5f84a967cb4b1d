"""The kill matrix: every kind of idempotency, killed at every point, and what comes of it.

Each cell is a real process, a real SIGKILL and a resume by a new process. What was observed is
the table of `docs/kill-matrix.md`: a cell fails when its row there says something else.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from attr import define

from agentctl import Engine
from agentctl.store.verify import verify_run
from tests.cli.harness import run_json
from tests.crash import matrix_worker
from tests.crash.matrix_worker import (
    AFTER_DISPATCH,
    AFTER_EFFECT,
    AFTER_RECORD,
    AFTER_REQUEST,
    BEFORE_REQUEST,
    POINTS,
    lines,
)

if TYPE_CHECKING:
    from agentctl.engine.records import EffectRecord, RunHistory

WORKER = Path(matrix_worker.__file__)
ROOT = WORKER.parents[2]
PAGE = ROOT / "docs" / "kill-matrix.md"
CLASSES = ("pure", "idempotent", "keyed", "at_most_once")
CELLS = [(one, point) for one in CLASSES for point in POINTS]
UNDER_WAY = (AFTER_REQUEST, AFTER_DISPATCH, AFTER_EFFECT)
_ROW = re.compile(r"^\| `(?P<kind>\w+)` \| (?P<point>[\w ]+) \|.*$", re.MULTILINE)
_BEGIN, _END = "<!-- rows -->\n", "<!-- end of rows -->\n"


@define
class Cell:
    """One folder in which one effect of one idempotency is killed at one point."""

    folder: Path
    idempotency: str
    point: str

    def work(self, command: str, point: str = "none") -> int:
        """Run the worker in a process of its own and return how it ended."""
        return self._run(command, point).returncode

    def refusal(self) -> str:
        """Resume, which must be refused, and return the name of the error."""
        refused = self._run("resume", "none")
        assert refused.returncode == 1
        return refused.stderr.splitlines()[-1].partition(":")[0].rpartition(".")[2]

    def _run(self, command: str, point: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, str(WORKER), str(self.folder), command, self.idempotency, point],
            check=False,
            capture_output=True,
            text=True,
            timeout=60,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )

    def ledger(self) -> tuple[RunHistory, list[EffectRecord]]:
        """Return the run, and what its ledger says of the effect, oldest first."""
        with Engine(self.folder / "state.db") as engine:
            (run,) = engine.store.list_runs()
            history = engine.history(run.id)
            assert verify_run(engine.store, run.id) == []
        return history, [one for one in history.effects if one.task_id == "act"]

    @property
    def outside(self) -> int:
        """How many lines the effect left outside."""
        return len(lines(self.folder / "outside.txt"))

    @property
    def calls(self) -> int:
        """How often its executor was entered."""
        return len(lines(self.folder / "calls.txt"))

    def settle(self, run_id: str) -> str:
        """Say what the outside shows of the effect in doubt, as an operator would."""
        found = "applied" if self.outside else "not-applied"
        (self.folder / "result.json").write_text('{"done": true}', encoding="utf-8")
        given = ("--result-file", "result.json") if self.outside else ()
        run_json(
            *("effects", "reconcile", run_id, "act/1.0", "--status", found, *given),
            *("--reason", "looked outside", "--db", "state.db"),
            cwd=self.folder,
        ).expect(0)
        return found


@pytest.mark.parametrize(("idempotency", "point"), CELLS)
def test_an_effect_that_was_killed_is_neither_lost_nor_repeated_in_silence(
    tmp_path: Path, idempotency: str, point: str
) -> None:
    cell = Cell(tmp_path, idempotency, point)
    assert cell.work("run", point) == -signal.SIGKILL
    then = after_the_crash(cell)
    did = after_the_resume(cell)
    end = at_the_end(cell)
    compare(cell, f"| `{idempotency}` | {point} | {then} | {did} | {end} |")


def after_the_crash(cell: Cell) -> str:
    """Hold the crash to the point it was meant for; return what is outside and on the ledger."""
    history, effects = cell.ledger()
    assert history.run.state == "running"
    states = [one.state for one in effects]
    if cell.point == BEFORE_REQUEST:
        assert states == []
    elif cell.point == AFTER_RECORD:
        assert states == ["succeeded"]
    else:
        assert states == ["started"]
    assert cell.calls == (cell.point not in (BEFORE_REQUEST, AFTER_REQUEST))
    assert cell.outside == (cell.point in (AFTER_EFFECT, AFTER_RECORD))
    return f"{counted(cell.outside)} | {f'`{states[0]}`' if states else 'nothing'}"


def after_the_resume(cell: Cell) -> str:
    """Resume until the run is over, and hold what that did to what was declared."""
    before = cell.outside
    ended = cell.work("resume")
    history, effects = cell.ledger()
    if cell.idempotency != "at_most_once" or cell.point not in UNDER_WAY:
        assert (ended, history.run.state) == (0, "succeeded")
        (effect,) = effects
        again = effect.dispatch == 2
        assert again == (cell.point in UNDER_WAY)
        return _REPEATED if again else _ASKED if cell.point == BEFORE_REQUEST else _USED
    assert (ended, history.run.state) == (3, "paused")
    assert [(one.state, one.dispatch) for one in effects] == [("uncertain", 1)]
    assert cell.refusal() == "UncertainEffect"
    # Nothing at all happened outside while the run was in doubt.
    assert (cell.outside, cell.calls) == (before, int(cell.point != AFTER_REQUEST))
    found = cell.settle(history.run.id)
    assert cell.work("resume") == 0
    return f"{_DOUBTED}; told `{found}`, {_USED if found == 'applied' else _AFRESH}"


def at_the_end(cell: Cell) -> str:
    """Hold the world and the ledger against each other when all is over."""
    history, effects = cell.ledger()
    assert history.run.state == "succeeded"
    assert history.run.output == {"done": True}
    repeated = cell.outside > 1
    # Not lost, and a second line only where its author declared that it does no harm.
    assert cell.outside >= 1
    assert repeated == (cell.idempotency in ("pure", "idempotent") and cell.point == AFTER_EFFECT)
    # Nor is any call left out of the ledger; a dispatch that died before its executor is on it.
    dispatches = sum(one.dispatch for one in effects)
    assert dispatches == cell.calls + (cell.point == AFTER_REQUEST)
    # Every call brought the key of its line of the ledger.
    keys = {one.idempotency_key for one in effects}
    assert set(lines(cell.folder / "calls.txt")) <= keys
    assert cell.refusal() == "StateError"
    assert sum(one.dispatch for one in cell.ledger()[1]) == dispatches
    return f"{dispatches} | {counted(cell.outside)}"


_ASKED = "asks for it and dispatches it"
_REPEATED = "dispatches it again, under the same key"
_USED = "uses the result"
_AFRESH = "asks for it afresh"
_DOUBTED = "says `uncertain`, exit code 3"


def counted(number: int) -> str:
    """Return a number of lines in words."""
    return f"{number} line" if number == 1 else f"{number} lines"


def compare(cell: Cell, row: str) -> None:
    """Hold a row against the page; AGENTCTL_REWRITE=1 puts it there."""
    page = PAGE.read_text(encoding="utf-8")
    rows = {(one["kind"], one["point"]): one[0] for one in _ROW.finditer(page)}
    if os.environ.get("AGENTCTL_REWRITE") == "1":
        rows[cell.idempotency, cell.point] = row
        ordered = "".join(f"{rows[key]}\n" for key in CELLS if key in rows)
        head, _, rest = page.partition(_BEGIN)
        PAGE.write_text(
            f"{head}{_BEGIN}{ordered}{_END}{rest.partition(_END)[2]}", encoding="utf-8"
        )
    assert rows.get((cell.idempotency, cell.point)) == row, "set AGENTCTL_REWRITE=1 to accept it"


def test_the_page_has_a_row_for_every_cell_and_no_other() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert [(one["kind"], one["point"]) for one in _ROW.finditer(page)] == CELLS
