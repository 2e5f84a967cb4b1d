"""A provider without quota, seen from the shell: the run waits, and says until when."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from attr import frozen

from tests.cli.harness import Result, run_cli, run_json
from tests.effects.models.dialects import DIALECTS
from tests.effects.models.server import Reply, ScriptedServer, json_reply, serving
from tests.effects.models.test_runs import document

if TYPE_CHECKING:
    from pathlib import Path

SAYS = DIALECTS["openai_compatible"]
CALLS, ANSWER = json_reply(SAYS.calls(["c1"])), json_reply(SAYS.text("done"))


def spent(seconds: int) -> Reply:
    """Return the answer of an account without quota until then."""
    body = SAYS.error("insufficient_quota", "no credit")
    return json_reply(body, 429, retry_after=str(seconds))


@frozen
class Shell:
    """One folder with a workflow whose agent asks a server."""

    folder: Path
    server: ScriptedServer

    def json(self, *args: str) -> Result:
        """Run a command on the folder's database."""
        return run_json(*args, "--db", str(self.folder / "state.db"))

    def start(self, **agent: Any) -> Result:
        """Run the workflow."""
        file = self.folder / "ask.json"
        body = document("openai_compatible", self.server, tools=["look"], **agent)
        file.write_text(json.dumps(body), encoding="utf-8")
        return self.json("run", str(file), "--workspace", str(self.folder))


def test_a_run_without_quota_waits_and_every_command_says_until_when(tmp_path: Path) -> None:
    with serving(CALLS, spent(3600), ANSWER) as server:
        shell = Shell(tmp_path, server)
        parked = shell.start().expect(3)
        run_id, until = parked.text("/data/runId"), parked.text("/data/waitUntil")
        assert parked.at("/data/state") == "waiting"
        (row,) = shell.json("runs").expect(0).items("/data")
        assert (row["state"], until in str(row["stillness"])) == ("waiting", True)
        seen = shell.json("inspect", run_id).expect(0)
        assert seen.at("/data/run/state") == "waiting"
        assert seen.at("/data/tasks/0/state") == "waiting_for_quota"
        assert seen.at("/data/tasks/0/dueAt") == until
        before = len(seen.items("/data/audit"))
        left = shell.json("resume", "--all").expect(3)
        assert left.at("/data/couldNot") == [run_id]
        assert until in left.text("/data/runs/0/reason")
        assert len(shell.json("inspect", run_id).items("/data/audit")) == before
        assert len(server.asked) == 2
        assert shell.json("resume", run_id).expect(0).at("/data/waitUntil") is None
        assert len(server.asked) == 3


def test_resuming_all_goes_on_once_the_time_has_come(tmp_path: Path) -> None:
    with serving(spent(0), ANSWER) as server:
        shell = Shell(tmp_path, server)
        shell.start().expect(3)
        (turn,) = shell.json("resume", "--all").expect(0).items("/data/runs")
    assert (turn["result"], turn["state"]) == ("wentOn", "succeeded")


def test_people_are_told_the_time_and_the_next_step(tmp_path: Path) -> None:
    with serving(spent(3600)) as server:
        shell = Shell(tmp_path, server)
        run_id = shell.start().expect(3).text("/data/runId")
        shown = run_cli("resume", run_id, "--db", str(tmp_path / "state.db")).expect(3).stdout
    assert "no credit; waits until 20" in shown
    assert f"agentctl resume {run_id}" in shown


def test_a_definite_failure_is_retried_within_the_run(tmp_path: Path) -> None:
    down = json_reply(SAYS.error("server_error", "sorry"), 503)
    with serving(CALLS, down, ANSWER) as server:
        shell = Shell(tmp_path, server)
        done = shell.start(task={"retry": {"maxAttempts": 2}}).expect(0)
        effects = shell.json("inspect", done.text("/data/runId")).items("/data/effects")
    assert [one["status"] for one in effects] == ["succeeded", "succeeded", "failed", "succeeded"]
    assert len(server.asked) == 3
