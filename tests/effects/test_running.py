"""A program run to its end under bounds, its whole process tree with it."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from attr import evolve

from agentctl.effects.processes.running import Captured, run_bounded
from agentctl.errors import EffectError
from tests.effects.bounded import children, descriptors, is_alive, python

if TYPE_CHECKING:
    from agentctl.effects.processes.command import Command
    from agentctl.effects.processes.running import Finished

# A grandchild that leaves session, group and parent, tells its id, and would live for an hour.
ESCAPE = """
import os, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        with open(sys.argv[1], "w", encoding="ascii") as file: file.write(str(os.getpid()))
        os.rename(sys.argv[1], sys.argv[1] + ".there")
        time.sleep(3600)
    os._exit(0)
os.wait()
while not os.path.exists(sys.argv[1] + ".there"): time.sleep(0.005)
"""


def run(command: Command) -> Finished:
    """Run a command on a loop of its own."""
    return asyncio.run(run_bounded(command))


def test_output_and_exit_code_are_what_the_program_gave() -> None:
    script = "import sys; print('out'); print('err', file=sys.stderr); sys.exit(7)"
    finished = run(python(script))
    assert (finished.exit_code, finished.stdout, finished.stderr) == (7, b"out\n", b"err\n")
    assert finished.overflow is None


def test_a_program_that_a_signal_ended_has_its_negative_number() -> None:
    finished = run(python("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)"))
    assert finished.exit_code == -signal.SIGSEGV


def test_a_program_gets_exactly_the_environment_it_is_given() -> None:
    script = "import os, sys; sys.stdout.buffer.write(open('/proc/self/environ', 'rb').read())"
    assert run(python(script)).stdout == b""
    given = evolve(python(script), environment={"A": "1", "B": "x=y"})
    assert sorted(run(given).stdout.strip(b"\0").split(b"\0")) == [b"A=1", b"B=x=y"]


def test_a_program_gets_its_input_and_its_folder(tmp_path: Path) -> None:
    script = "import os, sys; print(os.getcwd(), len(sys.stdin.buffer.read()))"
    finished = run(python(script, folder=tmp_path, stdin=b"x" * 300_000))
    assert finished.stdout.decode().split() == [str(tmp_path.resolve()), "300000"]


def test_a_program_that_does_not_read_its_input_ends_all_the_same() -> None:
    assert run(python("print('done')", stdin=b"x" * 300_000)).stdout == b"done\n"


def test_both_streams_are_drained_while_the_program_writes() -> None:
    script = (
        "import sys\n"
        "for _ in range(100):\n"
        "    sys.stdout.write('o' * 5000); sys.stderr.write('e' * 5000)\n"
    )
    finished = run(python(script))
    assert (len(finished.stdout), len(finished.stderr)) == (500_000, 500_000)


@pytest.mark.parametrize(
    ("stream", "bounds", "limit"),
    [
        ("stdout", {"stdout_bytes": 1000}, "stdoutLimitBytes"),
        ("stderr", {"stderr_bytes": 1000}, "stderrLimitBytes"),
        ("stdout", {"combined_bytes": 1000}, "combinedOutputLimitBytes"),
    ],
)
def test_a_program_that_prints_too_much_is_killed(
    stream: str, bounds: dict[str, int], limit: str
) -> None:
    script = f"import sys\nwhile True: sys.{stream}.write('x' * 100)"
    limits = evolve(python("").limits, **bounds)
    finished = run(evolve(python(script), limits=limits))
    assert finished.overflow == limit
    assert len(finished.stdout) + len(finished.stderr) == 1000


def test_exactly_the_bound_is_no_overflow() -> None:
    finished = run(python("print('x' * 999)", stdout_bytes=1000))
    assert (finished.overflow, len(finished.stdout)) == (None, 1000)


def test_a_program_that_cannot_be_started_is_a_definite_failure() -> None:
    with pytest.raises(EffectError, match="permission denied") as caught:
        run(evolve(python(""), program=str(Path(__file__).parent)))
    assert not caught.value.ambiguous


def test_a_grandchild_that_left_its_group_dies_with_the_program(tmp_path: Path) -> None:
    run(python(ESCAPE, str(tmp_path / "pid")))
    assert not is_alive(int((tmp_path / "pid.there").read_text(encoding="utf-8")))


def test_a_cancellation_ends_the_whole_tree_and_keeps_what_was_printed(tmp_path: Path) -> None:
    script = ESCAPE + "print('so far', flush=True)\ntime.sleep(3600)"
    captured = Captured()

    async def cancelled() -> None:
        running = asyncio.create_task(run_bounded(python(script, str(tmp_path / "pid")), captured))
        while not captured.stdout:
            await asyncio.sleep(0)
        running.cancel()
        await running

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(cancelled())
    assert captured.stdout == b"so far\n"
    assert captured.pid is not None
    assert not is_alive(captured.pid)
    assert not is_alive(int((tmp_path / "pid.there").read_text(encoding="utf-8")))
    assert children() == []


def test_a_program_dies_with_the_process_that_runs_it(tmp_path: Path) -> None:
    inner = """
import asyncio, os, signal
from agentctl.effects.processes.running import run_bounded
from tests.effects.bounded import python

async def started(pid):
    print(pid, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)

asyncio.run(run_bounded(python("import time; time.sleep(3600)"), None, started))
"""
    root = Path(__file__).parents[2]
    ended = subprocess.run(
        [sys.executable, "-c", inner],
        cwd=root,
        env={"PYTHONPATH": str(root)},
        stdout=subprocess.PIPE,
        check=False,
    )
    pid = int(ended.stdout)
    assert ended.returncode == -signal.SIGKILL
    # The keeper works on its own now; it holds this process's output, which ended with it.
    watched = _open_pidfd(pid)
    if watched is not None:
        import select

        assert select.select([watched], [], [], 30)[0], "the program outlived its runner"
        os.close(watched)
    assert not is_alive(pid)


def _open_pidfd(pid: int) -> int | None:
    try:
        return os.pidfd_open(pid)
    except ProcessLookupError:
        return None


def test_a_thousand_runs_leave_no_process_and_no_descriptor() -> None:
    async def many() -> list[bytes]:
        gate = asyncio.Semaphore(16)

        async def one(number: int) -> bytes:
            async with gate:
                finished = await run_bounded(
                    evolve(python(""), program="/bin/echo", arguments=(str(number),))
                )
                return finished.stdout

        return list(await asyncio.gather(*map(one, range(1000))))

    before = descriptors()
    assert asyncio.run(many()) == [b"%d\n" % number for number in range(1000)]
    assert descriptors() == before
    assert children() == []
