"""Measure agentctl and print each figure as a ratio against the machine's own floor.

    python benchmarks/run.py [--quick] [--samples N] [--save FILE]

Every sample is paired with raw SQLite (one INSERT per commit, write-ahead log, synchronous
FULL) taken just before it in the same folder, or with the cold start of a bare interpreter, so
that a figure means the same on a slow disk and on a fast one. The median of the ratios counts.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from agent import MODEL_MS_MAX, TOOL_MS_MAX
from load import put

HERE = Path(__file__).resolve().parent
HELLO = HERE.parent / "examples" / "hello.yaml"
AGENTCTL = str(Path(sys.executable).parent / "agentctl")
SYNC_CALL = re.compile(r"f(?:data)?sync\(\d+<([^>]*)>")


class Figure(NamedTuple):
    """One measured figure, and the target it is held against (None: for information)."""

    name: str
    value: float
    unit: str
    target: float | None


def main() -> int:
    """Measure everything; exit 1 when a target is missed."""
    options = _options()
    samples = 3 if options.quick else options.samples
    figures = [
        *_sequential(samples, quick=options.quick),
        *_fan_out(samples),
        *_resume(samples),
        *_syncs(),
        *_size_and_memory(),
        *_cold_starts(3 if options.quick else 15),
        *_load(10 if options.quick else 100),
        *_agents(),
    ]
    for figure in figures:
        print(_line(figure))
    if options.save:
        rows = [figure._asdict() for figure in figures]
        options.save.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    return int(any(_missed(figure) for figure in figures))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer samples, no 10,000 tasks")
    parser.add_argument("--samples", type=int, default=7)
    parser.add_argument("--save", type=Path, default=None, metavar="FILE")
    return parser.parse_args()


def _missed(figure: Figure) -> bool:
    return figure.target is not None and figure.value > figure.target


def _line(figure: Figure) -> str:
    target = "" if figure.target is None else f"  (at most {figure.target:g})"
    mark = "  MISSED" if _missed(figure) else ""
    return f"{figure.name:44} {figure.value:10.3f} {figure.unit}{target}{mark}"


def _work(name: str, folder: str, count: int) -> dict[str, float]:
    command = [sys.executable, str(HERE / "work.py"), name, folder, str(count)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=_environment())
    found: dict[str, float] = json.loads(done.stdout or "{}")
    return found


def _environment() -> dict[str, str]:
    """Return the environment with byte-code caching on, as users have it."""
    kept = dict(os.environ)
    kept.pop("PYTHONDONTWRITEBYTECODE", None)
    return kept


def _ratio(name: str, count: int, samples: int) -> float:
    """Return the median of seconds per task over seconds per raw commit."""
    ratios = []
    for _ in range(samples):
        with tempfile.TemporaryDirectory() as folder:
            floor = _work("raw", folder, max(count, 300))["seconds"] / max(count, 300)
            taken = _work(name, folder, count)["seconds"] / count
        ratios.append(taken / floor)
    return statistics.median(ratios)


def _sequential(samples: int, *, quick: bool) -> list[Figure]:
    figures = []
    for kind, target in (("pure", 0.6), ("effect", 2.0)):
        for count in (1, 10, 100, 1000):
            held = target if count == 1000 else None
            value = _ratio(f"sequential-{kind}", count, samples)
            figures.append(Figure(f"sequential {kind}, {count:,} tasks", value, "x raw", held))
        if not quick:
            figures += _growth(f"sequential-{kind}", samples)
    return figures


def _growth(name: str, samples: int) -> list[Figure]:
    """Compare a task of 10,000 with one of 1,000: both beside each other, and beside raw.

    Raw SQLite itself is faster over 10,000 commits, since it comes to overwrite its log.
    """
    growths, ratios = [], []
    for _ in range(min(samples, 3)):
        with tempfile.TemporaryDirectory() as folder:
            floor = _work("raw", folder, 10_000)["seconds"]
            few = _work(name, f"{folder}/few", 1000)["seconds"]
            many = _work(name, f"{folder}/many", 10_000)["seconds"]
        growths.append(many / few / 10)
        ratios.append(many / floor)
    words = name.replace("-", " ")
    return [
        Figure(f"{words}, 10,000 tasks", statistics.median(ratios), "x raw", None),
        Figure(f"{words}, a task of 10,000", statistics.median(growths), "x one of 1,000", 1.2),
    ]


def _fan_out(samples: int) -> list[Figure]:
    return [
        Figure(f"fan-out of 256, {kind}", _ratio(f"fan-{kind}", 256, samples), "x raw", 0.6)
        for kind in ("pure", "effect")
    ]


def _resume(samples: int) -> list[Figure]:
    taken = []
    for _ in range(samples):
        with tempfile.TemporaryDirectory() as folder:
            _work("prepare", folder, 1000)
            taken.append(_work("resume", folder, 1000)["seconds"] * 1000)
    return [Figure("resume of 1,000 completed tasks", statistics.median(taken), "ms", 80.0)]


def _syncs() -> list[Figure]:
    """Count syncs per effect: those of the log between two checkpoints, and all over several."""
    if shutil.which("strace") is None:
        print("strace is missing: fsyncs per effect are not measured", file=sys.stderr)
        return []
    with tempfile.TemporaryDirectory() as folder:
        few, more, many = (_synced(Path(folder) / str(count), count) for count in (50, 150, 1050))
    log = [sum(path.endswith("-wal") for path in paths) for paths in (few, more)]
    every = (len(many) - len(few)) / 1000
    return [
        Figure("fsyncs of the log per effect", (log[1] - log[0]) / 100, "fsyncs", 1.0),
        Figure("fsyncs per effect, checkpoints included", every, "fsyncs", None),
    ]


def _synced(folder: Path, count: int) -> list[str]:
    """Return the path of every file that was synced, once for every time."""
    command = ["strace", "-f", "-y", "-e", "trace=fsync,fdatasync", sys.executable]
    command += [str(HERE / "work.py"), "sequential-effect", str(folder), str(count)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=_environment())
    return SYNC_CALL.findall(done.stderr)


def _size_and_memory() -> list[Figure]:
    with tempfile.TemporaryDirectory() as folder:
        one = _work("sequential-effect", f"{folder}/one", 1)
        many = _work("sequential-effect", f"{folder}/many", 1000)
    growth = (many["bytes"] - one["bytes"]) / 999
    return [
        Figure("database bytes per task with an effect", growth, "bytes", 1500.0),
        Figure("peak memory, 1,000 effects", many["peakMemoryMiB"], "MiB", 45.0),
    ]


def _load(runs: int) -> list[Figure]:
    """Put a load of 16 writers on one database; the waits depend on the disk, and are told."""
    with tempfile.TemporaryDirectory() as folder:
        found = put(Path(folder), 4, 4, runs)
    if found.failed:
        print(*map(str, found.failed), sep="\n", file=sys.stderr)
    return [
        Figure(f"16 writers, {16 * runs:,} runs", found.seconds, "s", None),
        Figure("16 writers, failed processes", len(found.failed), "processes", 0),
        Figure("16 writers, wait for commit, median", found.wait_ms(0.5), "ms", None),
        Figure("16 writers, wait for commit, p99", found.wait_ms(0.99), "ms", None),
    ]


def _agents() -> list[Figure]:
    """Hold the agent loop's CPU against the transport's own."""
    command = [sys.executable, str(HERE / "agent.py"), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=_environment())
    found: dict[str, float] = json.loads(done.stdout)
    return [
        Figure("transport of a model call, CPU", found["transportMs"], "ms", None),
        Figure("a task with its model call, CPU", found["modelMs"], "ms", MODEL_MS_MAX),
        Figure("a tool call, CPU", found["toolMs"], "ms", TOOL_MS_MAX),
    ]


def _cold_starts(samples: int) -> list[Figure]:
    with tempfile.TemporaryDirectory() as folder:
        run = [AGENTCTL, "run", str(HELLO), "--workspace", folder, "--output", "json"]
        commands: list[tuple[str, list[str], float | None]] = [
            ("version", [AGENTCTL, "version"], 7.0),
            ("check hello", [AGENTCTL, "check", str(HELLO)], None),
            ("run hello", [*run, "--db", f"{folder}/cold.db"], 15.0),
        ]
        return [
            Figure(f"cold start of {name}", _cold(command, samples), "x python3", target)
            for name, command, target in commands
        ]


def _cold(command: list[str], samples: int) -> float:
    bare = [sys.executable, "-c", "pass"]
    _seconds(command)
    ratios = []
    for _ in range(samples):
        floor = _seconds(bare)
        ratios.append(_seconds(command) / floor)
    return statistics.median(ratios)


def _seconds(command: list[str]) -> float:
    start = time.perf_counter()
    subprocess.run(command, capture_output=True, check=True, env=_environment())
    return time.perf_counter() - start


if __name__ == "__main__":
    sys.exit(main())
