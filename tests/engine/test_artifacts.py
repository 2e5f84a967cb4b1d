"""Every confirmed write keeps its exact bytes, once; nothing else keeps anything."""

from __future__ import annotations

import asyncio
import hashlib
from typing import TYPE_CHECKING, Any

import pytest

from agentctl.errors import ArtifactDamaged
from agentctl.store.collect import collect
from agentctl.store.verify import verify_run
from agentctl.testing import CrashPoint, SimulatedCrash
from tests.engine.harness import Bench, task, workflow

if TYPE_CHECKING:
    from pathlib import Path

WRITE_TOOL = {
    "kind": "builtin.workspace.write",
    "description": "Write one text file.",
    "inputSchema": {"type": "object", "required": ["path", "content"]},
    "outputSchema": {"type": "object", "required": ["path", "bytes", "sha256"]},
    "capability": "filesystem.write",
    "risk": "medium",
    "effectClass": "workspace_mutate",
    "idempotency": "idempotent",
}


def write(name: str, path: str, content: str, *needs: str, **more: Any) -> dict[str, Any]:
    """Return a task that writes a file."""
    return task(name, "action:write", *needs, with_={"path": path, "content": content}, **more)


def kept(bench: Bench, run_id: str) -> list[tuple[str, str]]:
    """Return the name and path of everything that a run kept."""
    return [(one.name, one.logical_path) for one in bench.engine.history(run_id).artifacts]


def test_a_write_keeps_its_bytes_under_the_path_in_the_workspace(bench: Bench) -> None:
    absolute = str(bench.folder / "out" / "b.txt")
    ran = bench.run(workflow(write("a", "out/a.txt", "é"), write("b", absolute, "b", "a")))
    assert kept(bench, ran.run_id) == [("a/1.0#1", "out/a.txt"), ("b/1.0#1", "out/b.txt")]
    first = bench.engine.history(ran.run_id).artifacts[0]
    assert first.digest == hashlib.sha256("é".encode()).hexdigest()
    assert first.size_bytes == 2
    assert verify_run(bench.engine.store, ran.run_id) == []


def test_a_path_outside_the_workspace_stays_absolute(bench: Bench, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    policy = {"approval": "never", "writableRoots": [str(outside), str(bench.folder / "in")]}
    inner = str(bench.folder / "in" / "y.txt")
    document = workflow(
        write("x", str(outside / "x.txt"), "x"), write("y", inner, "y", "x"), policy=policy
    )
    engine = bench.reopened()
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    ran = engine.start_sync(engine.load(document), workspace=workspace)
    assert ran.state == "succeeded", ran.error
    assert [path for _, path in kept(bench, ran.run_id)] == [str(outside / "x.txt"), inner]


def test_an_unchanged_file_is_kept_all_the_same(bench: Bench) -> None:
    ran = bench.run(workflow(write("a", "out/a.txt", "x"), write("b", "out/a.txt", "x", "a")))
    first, second = bench.engine.history(ran.run_id).artifacts
    assert first.digest == second.digest
    assert (first.number, second.number) == (1, 2)


def test_a_tool_that_writes_keeps_its_bytes(bench: Bench) -> None:
    document = workflow(
        task("ask", "agent:writer", with_={"prompt": "Write."}),
        providers={"fake": {"kind": "fake"}},
        tools={"write": WRITE_TOOL},
        agents={
            "writer": {
                "provider": "fake",
                "model": "scripted",
                "instructions": "Write.",
                "tools": ["write"],
                "providerOptions": {
                    "toolInput": {"path": "out/t.txt", "content": "tool"},
                    "finalText": "done",
                },
            }
        },
    )
    ran = bench.run(document)
    assert ran.state == "succeeded", ran.error
    assert kept(bench, ran.run_id) == [("ask/1.1#1", "out/t.txt")]


def test_a_write_that_fails_keeps_nothing(bench: Bench) -> None:
    (bench.folder / "out").mkdir()
    (bench.folder / "out" / "link").symlink_to(bench.folder)
    ran = bench.run(workflow(write("a", "out/link", "x")))
    assert ran.state == "failed"
    assert kept(bench, ran.run_id) == []
    # Its bytes were stored for nothing, and are not protected any more.
    found = collect(bench.engine.store)
    assert found.kept == 0


@pytest.mark.parametrize("at", [2, 3])
@pytest.mark.parametrize("after", [False, True])
def test_a_write_whose_confirmation_was_lost_is_kept_once(
    bench: Bench, at: int, after: bool
) -> None:
    document = workflow(write("a", "out/a.txt", "x"), write("b", "out/b.txt", "y", "a"))
    bench.reopened(CrashPoint(at=at, after=after))
    with pytest.raises(SimulatedCrash):
        bench.run(document)
    engine = bench.reopened()
    (run,) = engine.store.list_runs()
    if run.state != "succeeded":
        assert engine.resume_sync(run.id).state == "succeeded"
    assert kept(bench, run.id) == [("a/1.0#1", "out/a.txt"), ("b/1.0#1", "out/b.txt")]
    assert verify_run(engine.store, run.id) == []


def test_a_run_whose_bytes_are_gone_is_not_resumed(bench: Bench) -> None:
    document = workflow(write("a", "out/a.txt", "x"), write("b", "out/b.txt", "y", "a"))
    bench.reopened(CrashPoint(at=2, after=True))
    with pytest.raises(SimulatedCrash):
        bench.run(document)
    engine = bench.reopened()
    (run,) = engine.store.list_runs()
    digest = hashlib.sha256(b"x").hexdigest()
    engine.store.blobs.path_of(digest).unlink()
    with pytest.raises(ArtifactDamaged, match=digest) as caught:
        engine.resume_sync(run.id)
    assert caught.value.code == "artifact_integrity"
    assert caught.value.run_id == run.id
    # The bytes come back, and so does the run.
    engine.store.blobs.hold()
    engine.store.blobs.put(b"x")
    engine.store.blobs.let_go()
    assert engine.resume_sync(run.id).state == "succeeded"


def test_bytes_above_the_bound_say_the_bounds_name(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agentctl.engine.artifacts.ARTIFACT_BYTES_MAX", 3)
    ran = bench.run(workflow(write("a", "out/a.txt", "four")))
    assert ran.error is not None
    assert ran.error["code"] == "artifact_too_large"
    assert "ARTIFACT_BYTES_MAX is 3" in str(ran.error["message"])
    assert not (bench.folder / "out" / "a.txt").exists()


def test_check_mode_keeps_nothing(bench: Bench) -> None:
    loaded = bench.engine.load(workflow(write("a", "out/a.txt", "x")))
    asyncio.run(bench.engine.preview(loaded))
    assert not list(bench.folder.rglob("*.artifacts"))
