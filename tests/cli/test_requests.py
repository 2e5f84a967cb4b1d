"""People answer agents with the real program."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tests.cli.harness import ROOT, Result, run_cli, run_json
from tests.control.mutations import QUESTION, written
from tests.control.working import scripted

if TYPE_CHECKING:
    from pathlib import Path


def test_a_paused_run_is_answered_and_finishes(tmp_path: Path) -> None:
    asks = {**QUESTION, "continuationPolicy": "wake_assignee"}
    document = scripted(
        ("get_task_context", {}),
        written("one", None),
        ("request_human_input", asks),
        ("finish_task", {"summary": "done"}),
    )
    (tmp_path / "work.yaml").write_text(json.dumps(document), encoding="utf-8")
    db = ("--db", "state.db")
    run_id = run_json("run", "work.yaml", *db, cwd=tmp_path).expect(3).text("/data/runId")
    (asked,) = run_json("requests", "list", *db, cwd=tmp_path).expect(0).items("/data")
    shown = run_cli("requests", "list", *db, cwd=tmp_path).expect(0).stdout
    assert "Which of the two do you want?" in shown
    stuck = run_cli("runs", "--stuck", *db, cwd=tmp_path).expect(0).stdout
    assert f"agentctl requests answer {asked['requestId']}" in stuck
    answer = ("requests", "answer", str(asked["requestId"]), "--actor", "ann", *db)
    run_json(*answer, cwd=tmp_path).expect(2)
    told = run_cli(*answer, "--answer", "left", cwd=tmp_path).expect(0)
    assert f"`agentctl resume {run_id}` goes on" in told.stdout
    assert run_json(*answer, "--decline", cwd=tmp_path).expect(3).at("/error/code") == (
        "request_answered"
    )
    done = run_json("resume", run_id, *db, cwd=tmp_path).expect(0)
    assert done.at("/data/output/answer/value/state") == "done"
    assert run_cli("requests", "list", *db, cwd=tmp_path).stdout == "nobody waits for an answer\n"


def test_a_plan_shows_what_its_agents_see(tmp_path: Path) -> None:
    (tmp_path / "work.yaml").write_text(json.dumps(scripted()), encoding="utf-8")
    shown = run_cli("plan", "work.yaml", cwd=tmp_path).expect(0).stdout
    assert "agent writer sees the tools: get_task_context, get_task_history," in shown


def test_the_example_is_answered_reviewed_and_done(tmp_path: Path) -> None:
    def json_of(*args: str) -> Result:
        return run_json(*args, "--db", "state.db", cwd=tmp_path)

    def open_request() -> str:
        (asked,) = json_of("requests", "list").expect(0).items("/data")
        return str(asked["requestId"])

    run_id = json_of("run", str(ROOT / "examples" / "brief.yaml")).expect(3).text("/data/runId")
    json_of("requests", "answer", open_request(), "--answer", "south").expect(0)
    ended = json_of("resume", run_id).expect(0)
    assert ended.at("/data/output/task/state") == "in_review"
    judged = json_of("requests", "answer", open_request(), "--reason", "good").expect(0)
    assert judged.at("/data/state") == "accepted"
    assert json_of("verify", run_id).exit_code == 0
