"""Following a run from another process: live, from the journal, and to whatever end it has."""

from __future__ import annotations

import json
import threading
from typing import TYPE_CHECKING, Any

import pytest
from attr import frozen

from agentctl import Engine
from agentctl.testing import CrashPoint, SimulatedCrash
from tests.cli.harness import run_cli, run_json, start_cli
from tests.cli.test_journeys import Desk, fake_agent, workflow
from tests.effects.models.dialects import DIALECTS
from tests.effects.models.server import Reply, serving, stream_reply
from tests.effects.models.test_runs import document

if TYPE_CHECKING:
    import subprocess
    from pathlib import Path

SAYS = DIALECTS["openai_compatible"]
TEXT = "one two three four five six seven eight nine ten " * 4


@frozen
class Held:
    """A stream that stops in its middle until it is let go."""

    release: threading.Event
    reply: Reply


def held() -> Held:
    """Return a stream that waits after most of its text."""
    events = SAYS.stream(SAYS.text(TEXT))
    release = threading.Event()

    def wait(index: int) -> None:
        if index == len(events) - 4:
            release.wait(30)

    return Held(release, stream_reply(*events, before_piece=wait))


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """Return a fresh folder."""
    return Desk(tmp_path)


def next_line(process: subprocess.Popen[str]) -> dict[str, Any]:
    """Return what a following process says next."""
    assert process.stdout is not None
    found: dict[str, Any] = json.loads(process.stdout.readline())
    return found


def until(process: subprocess.Popen[str], event_type: str) -> list[dict[str, Any]]:
    """Read what a following process says up to an event."""
    seen = [next_line(process)]
    while seen[-1]["data"]["eventType"] != event_type:
        seen.append(next_line(process))
    return seen


def rest(process: subprocess.Popen[str]) -> list[dict[str, Any]]:
    """Return what else a process says, and hold it to ending well."""
    with process:
        assert process.stdout is not None
        found = [json.loads(line) for line in process.stdout]
    assert process.returncode == 0
    return found


def watched(desk: Desk, run_id: str, *more: str) -> list[dict[str, Any]]:
    """Return what `watch` says of a run that does not move any more."""
    args = ("watch", run_id, "--db", str(desk.db), "--output", "jsonl", *more)
    return list(run_cli(*args).lines)


def test_a_run_is_followed_while_it_streams_and_to_its_end(desk: Desk) -> None:
    one = held()
    with serving(one.reply) as server:
        body = document("openai_compatible", server, stream=True)
        file = desk.file("ask.json", body)
        args = ("--db", str(desk.db), "--output", "jsonl")
        runner = start_cli("run", str(file), "--workspace", str(desk.folder), *args)
        begun = until(runner, "text.delta")
        run_id = begun[0]["data"]["runId"]
        follower = start_cli("watch", run_id, *args)
        seen = until(follower, "text.delta")
        assert seen == begun
        one.release.set()
        ran, said = rest(runner), rest(follower)
    assert said == ran
    assert said[-1]["kind"] == "RunOutcome"
    assert [*seen, *said] == watched(desk, run_id)


def test_a_run_that_is_over_is_told_from_its_journal(desk: Desk) -> None:
    file = desk.file("w.json", workflow(fake_agent(stream=True)))
    args = ("--workspace", str(desk.folder), "--db", str(desk.db), "--output", "jsonl")
    told = run_cli("run", str(file), *args).expect(0).lines
    run_id = str(told[-1]["data"]["runId"])  # type: ignore[index,call-overload]
    assert watched(desk, run_id) == told
    later = watched(desk, run_id, "--from", "4")
    assert later == told[-len(later) :]
    moves = [one["data"]["sequence"] for one in later if one["data"].get("machine")]
    assert moves == list(range(4, moves[-1] + 1))
    (only,) = watched(desk, run_id, "--from", "99999")
    assert only["kind"] == "RunOutcome"
    whole = desk.on("watch", run_id).expect(0)
    assert whole.at("/data/state") == "succeeded"


def test_people_read_the_moves_and_the_outcome(desk: Desk) -> None:
    run_id = desk.run(desk.file("w.json", workflow(fake_agent()))).expect(0).text("/data/runId")
    shown = run_cli("watch", run_id, "--db", str(desk.db)).expect(0)
    assert "[task write] running -> succeeded" in shown.stderr
    assert f"run {run_id} succeeded" in shown.stdout


@pytest.mark.parametrize(
    ("spec", "exit_code"),
    [
        ({"actions": {"a": {"kind": "builtin.assert"}}, "with": {"that": False}}, 4),
        (
            {
                "policy": {"approval": "always", "writableRoots": ["."]},
                "actions": {"a": {"kind": "builtin.write"}},
                "with": {"path": "x", "content": "y"},
            },
            3,
        ),
    ],
)
def test_it_ends_as_the_run_does(desk: Desk, spec: dict[str, Any], exit_code: int) -> None:
    given = spec.pop("with")
    spec = {**spec, "tasks": [{"id": "t", "uses": "action:a", "with": given}]}
    run_id = desk.run(desk.file("w.json", workflow(spec))).expect(exit_code).text("/data/runId")
    assert desk.on("watch", run_id).expect(exit_code).at("/data/runId") == run_id


def test_a_run_whose_process_died_is_not_waited_for(desk: Desk) -> None:
    crash = CrashPoint(at=2)
    with (
        Engine(desk.db, workspace=desk.folder, wrap_store=crash.watch) as engine,
        pytest.raises(SimulatedCrash),
    ):
        engine.start_sync(engine.load(workflow(fake_agent())))
    with Engine(desk.db) as engine:
        (run,) = engine.store.list_runs()
    assert desk.on("watch", run.id).expect(3).at("/data/state") == "running"
    shown = run_cli("watch", run.id, "--db", str(desk.db)).expect(3)
    assert f"agentctl resume {run.id}" in shown.stderr


def test_an_unknown_run_is_named(desk: Desk) -> None:
    desk.run(desk.file("w.json", workflow(fake_agent()))).expect(0)
    missing = run_json("watch", "r-none", "--db", str(desk.db)).expect(2)
    assert missing.at("/error/code") == "unknown_run"
