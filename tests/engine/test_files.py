"""File effects stay inside, write whole files, and say what is wrong."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.engine.harness import Bench, child, task, workflow


def write(path: Any, content: Any, roots: tuple[str, ...] = ("out",)) -> dict[str, Any]:
    return workflow(
        task("w", "action:write", with_={"path": path, "content": content}),
        policy={"approval": "never", "writableRoots": list(roots)},
        outputs={"record": "${{ tasks.w.output }}"},
    )


def read(path: str) -> dict[str, Any]:
    return workflow(task("r", "action:read", with_={"path": path}))


def test_a_write_reports_before_after_and_diff(bench: Bench) -> None:
    bench.run(write("out/a.txt", "one\n"))
    record = child(bench.run(write("out/a.txt", "two\n")).output, "record")
    assert record["status"] == "changed"
    assert record["before"]["bytes"] == record["after"]["bytes"] == 4
    assert "-one\n+two\n" in record["diff"]
    again = child(bench.run(write("out/a.txt", "two\n")).output, "record")
    assert again["status"] == "unchanged"
    assert sorted(one.name for one in (bench.folder / "out").iterdir()) == ["a.txt"]


@pytest.mark.parametrize(
    "path",
    ["../a", "out/../../a", "/etc/agentctl-test", "a.txt", "out", "", "out/", "out/\0", "."],
)
def test_a_write_outside_the_writable_roots_is_refused(bench: Bench, path: str) -> None:
    outcome = bench.run(write(path, "x"))
    assert child(outcome.error, "code") in ("policy_denied", "path_refused")
    assert list(bench.folder.glob("**/*.txt")) == []


@pytest.mark.parametrize("place", ["out/link/a.txt", "out/link"])
def test_a_symbolic_link_is_never_followed_by_a_write(
    bench: Bench, tmp_path_factory: pytest.TempPathFactory, place: str
) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (bench.folder / "out").mkdir()
    (bench.folder / "out" / "link").symlink_to(elsewhere)
    outcome = bench.run(write(place, "x"))
    assert child(outcome.error, "code") == "path_refused"
    assert list(elsewhere.iterdir()) == []


def test_a_symbolic_link_is_never_followed_by_a_read(bench: Bench) -> None:
    (bench.folder / "link").symlink_to("/etc/hostname")
    assert child(bench.run(read("link")).error, "code") == "path_refused"


def test_a_missing_file_says_the_nearest_name(bench: Bench) -> None:
    (bench.folder / "notes.txt").write_text("x", encoding="utf-8")
    error = bench.run(read("note.txt")).error
    assert child(error, "code") == "file_missing"
    assert "notes.txt" in child(error, "message")


def test_a_pipe_is_not_read(bench: Bench) -> None:
    os.mkfifo(bench.folder / "pipe")
    assert child(bench.run(read("pipe")).error, "code") == "path_refused"


def test_bytes_that_are_not_text_and_files_that_are_too_large_are_refused(bench: Bench) -> None:
    (bench.folder / "bad").write_bytes(b"\xff\xfe")
    assert child(bench.run(read("bad")).error, "code") == "not_utf8"
    with (bench.folder / "large").open("wb") as file:
        file.truncate(200 << 20)
    assert child(bench.run(read("large")).error, "code") == "file_too_large"


@pytest.mark.parametrize("given_", [{"path": 1, "content": "x"}, {"path": "out/a"}])
def test_input_of_the_wrong_kind_is_named(bench: Bench, given_: dict[str, Any]) -> None:
    outcome = bench.run(workflow(task("w", "action:write", with_=given_)))
    assert child(outcome.error, "code") == "invalid_input"


def test_an_absolute_writable_root_takes_absolute_paths(
    bench: Bench, tmp_path_factory: pytest.TempPathFactory
) -> None:
    mount = tmp_path_factory.mktemp("mount")
    outcome = bench.run(write(f"{mount}/deep/a.txt", "x", (str(mount),)))
    assert outcome.state == "succeeded"
    assert (mount / "deep" / "a.txt").read_text(encoding="utf-8") == "x"


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(text=st.text())
def test_any_text_is_written_and_read_back_the_same(bench: Bench, text: str) -> None:
    document = workflow(
        task("w", "action:write", with_={"path": "out/t", "content": "${{ inputs.text }}"}),
        task("r", "action:read", "w", with_={"path": "out/t"}),
        inputs={"text": ""},
        outputs={"text": "${{ tasks.r.output.output.content }}"},
    )
    outcome = bench.run(document, text=text)
    assert outcome.output == {"text": text}
    assert Path(bench.folder, "out", "t").read_bytes() == text.encode()
