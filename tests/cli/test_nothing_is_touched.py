"""A replay that cannot dispatch, and a fork whose parent stays as it is, row by row."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from shutil import which
from typing import TYPE_CHECKING, Any

import pytest

from tests.cli.harness import TIMEOUT_SECONDS, environment, run_json
from tests.cli.test_artifact_journeys import Desk as ToolDesk
from tests.cli.test_journeys import Desk, workflow

if TYPE_CHECKING:
    from pathlib import Path

Body = dict[str, Any]

# Every way to reach the network or a program ends the process.
GUARD = """
import sys
def refuse(event, args):
    if event in ("socket.connect", "socket.getaddrinfo", "subprocess.Popen", "os.posix_spawn"):
        raise SystemExit(f"reached out: {event}")
sys.addaudithook(refuse)
from agentctl.cli.main import main
main(sys.argv[1:])
"""


def rows(db: Path, run_id: str) -> dict[str, list[tuple[object, ...]]]:
    """Return every stored row of a run, table by table."""
    connection = sqlite3.connect(db)
    (number,) = connection.execute("SELECT number FROM run WHERE id = ?", (run_id,)).fetchone()
    span = (number << 32, (number + 1) << 32)
    found = {"run": connection.execute("SELECT * FROM run WHERE id = ?", (run_id,)).fetchall()}
    for table in ("task", "effect", "artifact", "transition"):
        sql = f'SELECT * FROM "{table}" WHERE key >= ? AND key < ? ORDER BY key'
        found[table] = connection.execute(sql, span).fetchall()
    for table in ("iteration", "approval", "memory", "stream_event"):
        sql = f"SELECT * FROM {table} WHERE run = ?"
        found[table] = connection.execute(sql, (number,)).fetchall()
    connection.close()
    return found


def test_a_replay_reaches_neither_network_nor_programs_nor_the_workspace(tmp_path: Path) -> None:
    desk = ToolDesk(tmp_path)
    run_id = desk.run().text("/data/runId")
    desk.workspace.rename(tmp_path / "away")
    words = ("replay", run_id, "--db", str(desk.db), "--output", "json")
    command = [sys.executable, "-c", GUARD, *words]
    done = subprocess.run(
        command, env=environment(), capture_output=True, text=True, timeout=TIMEOUT_SECONDS
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert not desk.workspace.exists()


def test_a_replay_works_in_a_network_namespace_without_routes(tmp_path: Path) -> None:
    alone = [which("unshare") or "unshare", "--map-root-user", "--net"]
    if (
        which("unshare") is None
        or subprocess.run([*alone, "true"], capture_output=True).returncode
    ):
        pytest.skip("unshare is missing, or may not make a network namespace here")
    desk = ToolDesk(tmp_path)
    run_id = desk.run().text("/data/runId")
    words = ("-m", "agentctl", "replay", run_id, "--db", str(desk.db))
    command = [*alone, sys.executable, *words]
    done = subprocess.run(
        command, env=environment(), capture_output=True, text=True, timeout=TIMEOUT_SECONDS
    )
    assert done.returncode == 0, done.stdout + done.stderr


def six() -> Body:
    """Return a workflow whose sub-workflow has six tasks that each write a file."""
    tasks: list[Body] = [
        {
            "id": f"t{number}",
            "uses": "action:write",
            "needs": [f"t{number - 1}"] if number > 1 else [],
            "with": {"path": f"{number}.txt", "content": "x"},
        }
        for number in range(1, 7)
    ]
    spec: Body = {
        "policy": {"approval": "never", "writableRoots": ["."]},
        "actions": {"write": {"kind": "builtin.write"}},
        "subworkflows": {"inner": {"version": "1.0.0", "tasks": tasks}},
        "tasks": [{"id": "call", "uses": "workflow:inner"}],
    }
    return workflow(spec)


def test_a_fork_inside_a_subworkflow_leaves_every_row_of_its_parent(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    run_id = desk.run(desk.file("six.json", six())).expect(0).text("/data/runId")
    before = rows(desk.db, run_id)
    assert len(before["effect"]) == 6
    forked = run_json("fork", run_id, "--from", "call--t3", "--db", str(desk.db)).expect(0)
    assert rows(desk.db, run_id) == before
    reused = forked.at("/data/reusedTasks")
    assert isinstance(reused, list)
    assert reused[-2:] == ["call--t1", "call--t2"]
    made = rows(desk.db, forked.text("/data/runId"))
    assert len(made["effect"]) == 4
