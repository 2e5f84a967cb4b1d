"""Journeys of what runs keep: written once, found by digest, checked, copied, collected."""

from __future__ import annotations

import hashlib
import json
import shutil
from typing import TYPE_CHECKING, cast

import pytest

from agentctl.store.blobs import INCOMING
from tests.cli.harness import EXAMPLES, Result, run_cli, run_json

if TYPE_CHECKING:
    from pathlib import Path

    from agentctl.jsonvalue import JsonObject

FIXTURE = EXAMPLES / "acceptance" / "mock-tool" / "fixture" / "service.txt"
VERDICT = "AGENTCTL_MOCK_FIXTURE_VERIFIED"
DIGEST = hashlib.sha256(VERDICT.encode()).hexdigest()
REPORT = "artifacts/mock-report.txt"
# The digest of other bytes.
OTHER = hashlib.sha256(b"other").hexdigest()


READ_TOOL: JsonObject = {
    "kind": "builtin.workspace.read",
    "description": "Read one text file of the workspace.",
    "inputSchema": {"type": "object", "required": ["path"]},
    "outputSchema": {"type": "object", "required": ["path", "content", "bytes", "sha256"]},
    "capability": "filesystem.read",
    "risk": "low",
    "effectClass": "observe",
    "idempotency": "idempotent",
}


def mock_tool() -> JsonObject:
    """Return a workflow whose agent reads the fixture, and whose text is written to a file."""
    return {
        "apiVersion": "agentctl.dev/v1",
        "kind": "Workflow",
        "metadata": {"name": "mock-tool"},
        "spec": {
            "policy": {"approval": "never", "writableRoots": ["artifacts"]},
            "providers": {"scripted": {"kind": "fake"}},
            "tools": {"read-fixture": READ_TOOL},
            "agents": {
                "reader": {
                    "provider": "scripted",
                    "model": "scripted",
                    "instructions": "Read the fixture and give the verdict.",
                    "tools": ["read-fixture"],
                    "providerOptions": {
                        "toolInput": {"path": "fixture/service.txt"},
                        "finalText": VERDICT,
                    },
                }
            },
            "actions": {"write": {"kind": "builtin.write"}},
            "tasks": [
                {"id": "inspect", "uses": "agent:reader", "with": {"prompt": "Is it ready?"}},
                {
                    "id": "report",
                    "uses": "action:write",
                    "needs": ["inspect"],
                    "with": {"path": REPORT, "content": "${{ tasks.inspect.output.text }}"},
                },
            ],
            "outputs": {"verdict": "${{ tasks.inspect.output.text }}"},
        },
    }


class Desk:
    """A workspace with the fixture, and a database."""

    def __init__(self, folder: Path) -> None:
        self.workspace = folder / "workspace"
        self.db = folder / "state" / "runtime.db"
        self.blobs = folder / "state" / "runtime.db.artifacts"
        (self.workspace / "artifacts").mkdir(parents=True)
        (self.workspace / "fixture").mkdir()
        shutil.copy(FIXTURE, self.workspace / "fixture")

    def run(self) -> Result:
        """Run the workflow."""
        file = self.workspace / "workflow.yaml"
        file.write_text(json.dumps(mock_tool()), encoding="utf-8")
        where = ("--workspace", str(self.workspace), "--db", str(self.db))
        return run_json("run", str(file), *where).expect(0)

    def artifacts(self, *words: str) -> Result:
        """Run a command about artifacts, with the database before its name."""
        return run_json("artifacts", "--db", str(self.db), *words)

    def on(self, command: str, run_id: str) -> Result:
        """Run a command on a stored run."""
        return run_json(command, run_id, "--db", str(self.db))

    def damage(self) -> None:
        """Change the stored bytes."""
        (self.blobs / DIGEST[:2] / DIGEST[2:]).write_bytes(b"other")


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """Return a fresh workspace."""
    return Desk(tmp_path)


def test_a_tool_call_a_continuation_its_traces_and_the_artifact(desk: Desk) -> None:
    ran = desk.run()
    assert ran.at("/data/output/verdict") == VERDICT
    report = desk.workspace / REPORT
    assert report.read_text(encoding="utf-8") == VERDICT

    run_id = ran.text("/data/runId")
    seen = desk.on("inspect", run_id).expect(0)
    assert len(seen.items("/data/effects")) >= 3
    (call,) = seen.items("/data/toolCalls")
    assert call["callId"] != call["effectId"]
    assert len(seen.items("/data/providerSessions")) == 1
    for some in ("checkpoints", "audit", "traces"):
        assert seen.items(f"/data/{some}")
    (kept,) = seen.items("/data/artifacts")
    assert (kept["digest"], kept["logicalPath"]) == (DIGEST, REPORT)

    listed = desk.artifacts("list", "--run", run_id).expect(0)
    assert len(listed.items("/data/references")) == 1
    assert len(listed.items("/data/blobs")) == 1
    shown = desk.artifacts("inspect", DIGEST).expect(0)
    assert shown.at("/data/blob/referenceCount") == 1
    assert shown.at("/data/blob/sizeBytes") == len(VERDICT)

    report.unlink()
    assert desk.artifacts("verify", DIGEST).expect(0).at("/data/valid") is True
    target = desk.workspace / "exports" / "mock-report.txt"
    desk.artifacts("export", DIGEST, str(target)).expect(0)
    assert target.read_bytes() == VERDICT.encode()
    assert desk.on("verify", run_id).expect(0).at("/data/valid") is True


def test_the_same_workflow_runs_in_another_directory(tmp_path: Path) -> None:
    desk = Desk(tmp_path / "elsewhere")
    assert desk.run().at("/data/output/verdict") == VERDICT


def test_two_runs_that_write_the_same_bytes_share_them(desk: Desk) -> None:
    first, second = (desk.run().text("/data/runId") for _ in range(2))
    listed = desk.artifacts("list").expect(0)
    assert [one["runId"] for one in listed.items("/data/references")] == [first, second]
    assert listed.at("/data/blobs/0/referenceCount") == 2
    assert len(listed.items("/data/blobs")) == 1


def test_a_replay_refers_to_the_same_bytes_without_an_effect(desk: Desk) -> None:
    replayed = desk.on("replay", desk.run().text("/data/runId")).expect(0)
    seen = desk.on("inspect", replayed.text("/data/runId")).expect(0)
    assert seen.items("/data/effects") == []
    assert [one["digest"] for one in seen.items("/data/artifacts")] == [DIGEST]
    assert desk.artifacts("inspect", DIGEST).at("/data/blob/referenceCount") == 2
    desk.on("verify", replayed.text("/data/runId")).expect(0)


def test_damaged_bytes_are_reported_by_digest_and_block_what_needs_them(desk: Desk) -> None:
    run_id = desk.run().text("/data/runId")
    desk.damage()
    found = desk.artifacts("verify").expect(5)
    assert found.at("/data/valid") is False
    assert found.at("/data/problems/0") == {
        "digest": DIGEST,
        "problem": "damaged",
        "referenceCount": 1,
    }
    assert DIGEST in desk.on("verify", run_id).expect(5).text("/data/mismatches/0/message")
    assert desk.artifacts("inspect", DIGEST).expect(0).at("/data/blob/problem") == "damaged"
    refused = desk.artifacts("export", DIGEST, str(desk.workspace / "copy.txt")).expect(5)
    assert refused.at("/error/code") == "artifact_integrity"
    assert not list(desk.workspace.glob("*copy*"))
    blocked = desk.on("replay", run_id).expect(5)
    assert blocked.at("/error/code") == "artifact_integrity"
    assert DIGEST in blocked.text("/error/message")
    # Writing the same bytes again brings the good ones back.
    desk.run()
    assert desk.artifacts("verify").expect(0).at("/data/valid") is True


def test_missing_bytes_are_reported_by_digest(desk: Desk) -> None:
    desk.run()
    shutil.rmtree(desk.blobs)
    found = desk.artifacts("verify", DIGEST[:8]).expect(5)
    assert found.at("/data/problems/0/problem") == "missing"
    assert desk.artifacts("list").expect(0).at("/data/blobs/0/storedBytes") is None


def test_a_digest_may_be_given_by_its_beginning(desk: Desk) -> None:
    desk.run()
    for given in (DIGEST[:6], DIGEST.upper(), f"sha256:{DIGEST}"):
        assert desk.artifacts("inspect", given).expect(0).at("/data/blob/digest") == DIGEST


@pytest.mark.parametrize("digest", [OTHER, "zz", "", DIGEST[:-1] + "x"])
def test_an_unknown_digest_says_what_there_is(desk: Desk, digest: str) -> None:
    desk.run()
    for words in (["inspect", digest], ["verify", digest], ["export", digest, "copy.txt"]):
        refused = desk.artifacts(*words).expect(2)
        assert refused.at("/error/code") == "unknown_artifact"
        assert DIGEST in refused.text("/error/help")


def test_an_export_replaces_a_file_only_when_told(desk: Desk) -> None:
    desk.run()
    target = desk.workspace / "copy.txt"
    target.write_text("dear", encoding="utf-8")
    refused = desk.artifacts("export", DIGEST, str(target)).expect(2)
    assert "--force" in refused.text("/error/help")
    assert target.read_text(encoding="utf-8") == "dear"
    desk.artifacts("export", DIGEST, str(target), "--force").expect(0)
    assert target.read_text(encoding="utf-8") == VERDICT
    assert sorted(path.name for path in desk.workspace.iterdir() if "copy" in path.name) == [
        "copy.txt"
    ]


def test_collecting_removes_only_what_nothing_refers_to(desk: Desk) -> None:
    desk.run()
    loose = desk.blobs / OTHER[:2] / OTHER[2:]
    loose.parent.mkdir()
    loose.write_bytes(b"other")
    leftover = desk.blobs / INCOMING / "1-1-1"
    leftover.write_bytes(b"half")
    planned = desk.artifacts("gc", "--plan").expect(0)
    assert planned.at("/data/removed") == [{"digest": OTHER, "sizeBytes": 5}]
    assert loose.exists()
    assert leftover.exists()
    done = desk.artifacts("gc").expect(0)
    assert cast("JsonObject", done.at("/data")) == {
        "planned": False,
        "removed": [{"digest": OTHER, "sizeBytes": 5}],
        "leftovers": 1,
        "freedBytes": 9,
        "kept": 1,
    }
    assert not loose.exists()
    assert not leftover.exists()
    assert desk.artifacts("verify").expect(0).at("/data/checked") == 1
    assert desk.artifacts("gc").expect(0).at("/data/freedBytes") == 0


def test_a_backup_takes_the_artifacts_along(desk: Desk) -> None:
    run_id = desk.run().text("/data/runId")
    copy = desk.db.with_name("copy.db")
    made = run_json("db", "--db", str(desk.db), "backup", str(copy)).expect(0)
    assert made.at("/data/artifacts") == 1
    shutil.rmtree(desk.blobs)
    run_json("verify", run_id, "--db", str(copy)).expect(0)
    run_json("db", "--db", str(copy), "check").expect(0)
    # The original lost its bytes: what can be saved is saved, and the loss is said.
    poor = run_json("db", "--db", str(desk.db), "backup", str(copy.with_name("poor.db"))).expect(5)
    assert cast("JsonObject", poor.at("/data/damagedArtifacts")).keys() == {DIGEST}


def test_people_read_the_same_facts(desk: Desk) -> None:
    desk.run()
    where = ("artifacts", "--db", str(desk.db))
    listed = run_cli(*where, "list").expect(0).stdout
    assert DIGEST[:16] in listed
    assert REPORT in listed
    assert "published" in run_cli(*where, "inspect", DIGEST).expect(0).stdout
    assert "every byte fits" in run_cli(*where, "verify").expect(0).stdout
    assert "1 blob left" in run_cli(*where, "gc").expect(0).stdout
    desk.damage()
    assert f"{DIGEST} is damaged" in run_cli(*where, "verify").expect(5).stdout


def test_there_may_be_no_artifacts(desk: Desk) -> None:
    run_json("db", "--db", str(desk.db), "migrate").expect(0)
    assert desk.artifacts("list").expect(0).at("/data") == {"references": [], "blobs": []}
    assert desk.artifacts("verify").expect(0).at("/data/checked") == 0
    assert desk.artifacts("gc").expect(0).at("/data/kept") == 0
    assert not desk.blobs.exists()
    assert "no artifacts" in run_cli("artifacts", "--db", str(desk.db), "list").stdout
