"""Load one database from many processes and threads, while it is looked at and backed up.

    python benchmarks/load.py [--processes N] [--threads N] [--runs N]

Every thread does N runs of two tasks with one effect. Meanwhile the command line lists and
inspects runs again and again, and makes a backup when half of the runs are there. It prints how
long a commit took from asking to knowing: the wait for other writers and for the disk.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from concurrent.futures import Future

HERE = Path(__file__).resolve().parent
AGENTCTL = str(Path(sys.executable).parent / "agentctl")
DATABASE = "load.db"
BACKUP = "copy.db"


class Ended(NamedTuple):
    """How one process ended."""

    command: list[str]
    code: int
    output: str
    errors: str


class Load(NamedTuple):
    """What a load came to: its processes, the commands beside it, and the commits' times."""

    workers: list[Ended]
    commands: list[Ended]
    waits_ms: list[float]
    seconds: float

    @property
    def failed(self) -> list[Ended]:
        """Whoever ended badly or complained."""
        return [one for one in (*self.workers, *self.commands) if one.code or one.errors]

    def wait_ms(self, share: float) -> float:
        """Return the time within which a share of the commits was done."""
        return self.waits_ms[min(int(len(self.waits_ms) * share), len(self.waits_ms) - 1)]


def main() -> None:
    """Measure once, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--processes", type=int, default=4)
    parser.add_argument("--threads", type=int, default=4)
    parser.add_argument("--runs", type=int, default=100)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        load = put(Path(folder), given.processes, given.threads, given.runs)
    for one in load.failed:
        print(f"{' '.join(one.command)}: exit code {one.code}\n{one.errors}", file=sys.stderr)
    print(f"{given.processes} processes x {given.threads} threads x {given.runs} runs")
    print(f"{'all runs':24} {load.seconds:10.3f} s")
    print(f"{'commands beside them':24} {len(load.commands):10}")
    for name, share in (("median", 0.5), ("p99", 0.99), ("longest", 1.0)):
        print(f"{f'wait for commit, {name}':24} {load.wait_ms(share):10.3f} ms")
    sys.exit(bool(load.failed))


def put(folder: Path, processes: int, threads: int, runs: int) -> Load:
    """Put a load on `FOLDER/load.db`, and look at it until all workers have ended."""
    start = time.perf_counter()
    command = [sys.executable, str(HERE / "load_worker.py"), str(folder), str(threads), str(runs)]
    with ThreadPoolExecutor(processes) as pool:
        working = [pool.submit(_do, command) for _ in range(processes)]
        commands = _look(folder, working, processes * threads * runs // 2)
        workers = [one.result() for one in working]
    seconds = time.perf_counter() - start
    waits = [wait for one in workers if not one.code for wait in json.loads(one.output)]
    return Load(workers, commands, sorted(waits), seconds)


def _look(folder: Path, working: list[Future[Ended]], half: int) -> list[Ended]:
    """List and inspect runs while any worker works; make one backup, at half time if it can."""
    done: list[Ended] = []
    is_backed_up = False
    while not is_backed_up or not all(one.done() for one in working):
        is_over = all(one.done() for one in working)
        if not (folder / DATABASE).exists():
            if is_over:
                break
            continue
        info = _agentctl(folder, "db", "info", "--output", "json")
        newest = _agentctl(folder, "runs", "--limit", "1", "--output", "json")
        done += [info, newest]
        for run in _data(newest, []):
            done.append(_agentctl(folder, "inspect", run["runId"], "--output", "json"))
        runs = sum(_data(info, {"runs": {}})["runs"].values())
        if not is_backed_up and (is_over or runs >= half):
            done.append(_agentctl(folder, "db", "backup", str(folder / BACKUP)))
            is_backed_up = True
    return done


def _data(command: Ended, otherwise: Any) -> Any:
    return json.loads(command.output)["data"] if command.code == 0 else otherwise


def _agentctl(folder: Path, *arguments: str) -> Ended:
    return _do([AGENTCTL, *arguments, "--db", str(folder / DATABASE)])


def _do(command: list[str]) -> Ended:
    kept = dict(os.environ)
    # As users have it: without byte code every command would be compiled anew.
    kept.pop("PYTHONDONTWRITEBYTECODE", None)
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=kept)
    return Ended(command, done.returncode, done.stdout, done.stderr)


if __name__ == "__main__":
    main()
