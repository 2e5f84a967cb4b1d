"""Acceptance journeys through retry, repair and replay, with the real program."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from tests.cli.harness import EXAMPLES, Result, run_json
from tests.cli.test_artifact_journeys import Desk as ToolDesk
from tests.cli.test_journeys import Desk

if TYPE_CHECKING:
    from pathlib import Path

FOLDER = EXAMPLES / "framework-completeness"
VERDICT = "DURABLE_PIPELINE_VERIFIED"


def models(seen: Result) -> int:
    """Return how many model effects a run has."""
    requests = (one["request"] for one in seen.items("/data/effects"))
    return sum(isinstance(one, dict) and one["effectClass"] == "model" for one in requests)


def test_a13_a_replay_has_no_effects_and_ends_as_its_source(tmp_path: Path) -> None:
    desk = ToolDesk(tmp_path)
    run_id = desk.run().text("/data/runId")
    replayed = desk.on("replay", run_id).expect(0).text("/data/runId")
    assert replayed != run_id
    seen = desk.on("inspect", replayed).expect(0)
    assert (seen.items("/data/effects"), len(seen.items("/data/artifacts"))) == ([], 1)


def test_a13_a_replay_of_a_refused_run_is_failed(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    ran = desk.run(EXAMPLES / "v1" / "approval.yaml").expect(3)
    run_id = ran.text("/data/runId")
    (asked,) = desk.inspect(run_id).items("/data/approvals")
    words = ("reject", str(asked["approvalId"]), "--reason", "no", "--db", str(desk.db))
    run_json("approvals", *words).expect(0)
    desk.on("resume", run_id).expect(4)
    assert desk.on("replay", run_id).expect(4).at("/data/state") == "failed"


def test_c1_a_durable_pipeline_is_approved_retried_repaired_and_replayed(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    names = ("durable-pipeline.yaml", "durable-pipeline-repaired.yaml")
    first, repaired = (tmp_path / one for one in names)
    for file in (first, repaired):
        shutil.copy(FOLDER / file.name, file)
        run_json("check", str(file)).expect(0)
        run_json("plan", str(file)).expect(0)
    run_id = desk.run(first).expect(3).text("/data/runId")
    (asked,) = desk.inspect(run_id).items("/data/approvals")
    run_json("approvals", "approve", str(asked["approvalId"]), "--db", str(desk.db)).expect(0)
    where = ("--workspace", str(tmp_path), "--db", str(desk.db))
    assert run_json("resume", run_id, *where).expect(4).at("/error/runId") == run_id
    source = desk.inspect(run_id)
    assert source.at("/data/run/state") == "failed"
    assert (len(source.items("/data/tasks")), models(source)) == (10, 1)
    (kept,) = source.items("/data/artifacts")
    assert source.at("/data/budget/usage/providerRequests") == 1
    assert source.at("/data/budget/usage/artifactBytes") == 25

    retry = ("retry", str(first), run_id, "--failed", *where)
    plan = run_json(*retry, "--plan").expect(0)
    reused = plan.at("/data/reusedTasks")
    assert isinstance(reused, list)
    assert (len(reused), reused[7:]) == (9, ["analyze", "publish"])
    assert plan.at("/data/rerunTasks") == ["validate"]
    again = desk.inspect(run_json(*retry, "--reason", "again").expect(4).text("/error/runId"))
    assert (models(again), len(again.items("/data/artifacts"))) == (0, 1)

    (tmp_path / "artifacts" / "framework-completeness.txt").unlink()
    repair = ("repair", str(repaired), run_id, "--from", "validate", *where)
    assert run_json(*repair, "--plan").expect(0).at("/data/rerunTasks") == ["validate"]
    made = run_json(*repair, "--reason", "mended").expect(0)
    assert made.at("/data/output/verdict") == VERDICT
    assert len(made.items("/data/output/matrix")) == 4
    assert made.at("/data/executedTasks") == ["validate"]
    seen = desk.inspect(made.text("/data/runId"))
    assert (models(seen), seen.items("/data/toolCalls")) == (0, [])
    digest = seen.text("/data/artifacts/0/digest")
    assert digest == kept["digest"]
    out = tmp_path / "out.txt"
    run_json("artifacts", "verify", digest, "--db", str(desk.db)).expect(0)
    run_json("artifacts", "export", digest, str(out), "--db", str(desk.db)).expect(0)
    assert out.read_text(encoding="utf-8") == VERDICT
    replayed = desk.on("replay", made.text("/data/runId")).expect(0)
    assert replayed.at("/data/output/verdict") == VERDICT
    last = desk.inspect(replayed.text("/data/runId"))
    for none in ("effects", "toolCalls", "providerSessions"):
        assert last.items(f"/data/{none}") == []
    assert last.at("/data/artifacts/0/digest") == digest


def test_c3_a_structured_handoff_is_retried_from_its_review(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    folder = EXAMPLES / "v1"
    file = folder / "structured-handoff.yaml"
    run_id = desk.run(file, workspace=folder).expect(0).text("/data/runId")
    seen = desk.inspect(run_id)
    found = [
        (one["taskId"], one["state"], one["disposition"]) for one in seen.items("/data/tasks")
    ]
    names = ("collect", "handoff", "review", "verify")
    assert found == [(one, "succeeded", "executed") for one in names]
    assert len(seen.items("/data/toolCalls")) == 1
    words = ("--from", "review", "--restart-successful", "--workspace", str(folder))
    retried = run_json("retry", str(file), run_id, *words, "--db", str(desk.db)).expect(0)
    assert retried.at("/data/reusedTasks") == ["collect", "handoff"]
    assert retried.at("/data/executedTasks") == ["review", "verify"]
    replayed = desk.on("replay", retried.text("/data/runId")).expect(0)
    last = desk.inspect(replayed.text("/data/runId"))
    for none in ("effects", "toolCalls", "providerSessions"):
        assert last.items(f"/data/{none}") == []
