"""Reading the files that documents name: inside the workspace, regular, bounded."""

from __future__ import annotations

import os
import socket
from typing import TYPE_CHECKING

import pytest

from agentctl.effects.sources import SourceBudget, SourceFiles, split_argument
from agentctl.engine.values.capture import SourceReference, capture
from agentctl.errors import SourceError
from agentctl.limits import VARS_FILE_BYTES_MAX, VARS_FILES_MAX, VARS_FILES_TOTAL_BYTES_MAX

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    root = tmp_path / "workspace"
    (root / "vars").mkdir(parents=True)
    (root / "vars" / "environment.json").write_bytes(b'{"a": 1}')
    (tmp_path / "secret.json").write_bytes(b"{}")
    return root


def test_a_file_is_read_relative_to_its_base(workspace: Path) -> None:
    files = SourceFiles(workspace)
    assert files.read("vars/environment.json") == b'{"a": 1}'
    assert files.read("./environment.json", "vars") == b'{"a": 1}'
    assert files.read("environment.json", str(workspace / "vars")) == b'{"a": 1}'


def test_the_way_to_the_workspace_may_be_a_link(workspace: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(workspace)
    files = SourceFiles(tmp_path / "link")
    assert files.read("environment.json", str(tmp_path / "link" / "vars")) == b'{"a": 1}'


@pytest.mark.parametrize(
    "path",
    [
        "",
        ".",
        "vars",
        "vars/",
        "../secret.json",
        "vars/../../secret.json",
        "/etc/hostname",
        "a\0b",
        "vars/environment.json/x",
        "x" * 300,
        "\udcff",
    ],
)
def test_a_path_that_is_no_file_inside_is_refused(workspace: Path, path: str) -> None:
    with pytest.raises(SourceError) as caught:
        SourceFiles(workspace).read(path)
    assert caught.value.code == "source_error"


@pytest.mark.parametrize("base", ["..", "/", "\0"])
def test_a_base_outside_is_refused(workspace: Path, base: str) -> None:
    with pytest.raises(SourceError):
        SourceFiles(workspace).read("secret.json", base)


def test_links_are_not_followed_neither_as_file_nor_on_the_way(workspace: Path) -> None:
    (workspace / "file").symlink_to(workspace.parent / "secret.json")
    (workspace / "folder").symlink_to(workspace.parent)
    files = SourceFiles(workspace)
    for path in ("file", "folder/secret.json"):
        with pytest.raises(SourceError, match="symbolic link"):
            files.read(path)


def test_a_pipe_or_a_socket_is_refused_at_once(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(workspace / "pipe")
    monkeypatch.chdir(workspace)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("socket")
        for path in ("pipe", "socket"):
            with pytest.raises(SourceError):
                SourceFiles(workspace).read(path)


def test_a_missing_file_says_the_nearest_name(workspace: Path) -> None:
    with pytest.raises(SourceError) as caught:
        SourceFiles(workspace).read("vars/enviroment.json")
    assert caught.value.help == "did you mean 'environment.json'?"


def test_a_file_may_have_one_mebibyte_and_no_byte_more(workspace: Path) -> None:
    (workspace / "full").write_bytes(b"x" * VARS_FILE_BYTES_MAX)
    (workspace / "over").write_bytes(b"x" * (VARS_FILE_BYTES_MAX + 1))
    files = SourceFiles(workspace)
    assert len(files.read("full")) == VARS_FILE_BYTES_MAX
    with pytest.raises(SourceError, match=f"{VARS_FILE_BYTES_MAX:,}"):
        files.read("over")


def test_references_and_bytes_are_bounded_over_several_readers(workspace: Path) -> None:
    budget = SourceBudget(references=VARS_FILES_MAX - 1)
    SourceFiles(workspace, budget).read("vars/environment.json")
    with pytest.raises(SourceError, match=str(VARS_FILES_MAX)):
        SourceFiles(workspace, budget).read("vars/environment.json")
    full = SourceBudget(size_bytes=VARS_FILES_TOTAL_BYTES_MAX - 1)
    with pytest.raises(SourceError, match=str(VARS_FILES_TOTAL_BYTES_MAX)):
        SourceFiles(workspace, full).read("vars/environment.json")


def test_every_failure_becomes_a_diagnostic_with_its_place(workspace: Path) -> None:
    references = [
        SourceReference(path=path, place=f"spec.varsFiles[{index}]")
        for index, path in enumerate(("vars/environment.json", "absent", "../x"))
    ]
    captured, problems = capture(references, SourceFiles(workspace), file="workflow.yaml")
    assert list(captured) == ["spec.varsFiles[0]"]
    assert [(one.code, one.path) for one in problems] == [
        ("source_error", "spec.varsFiles[1]"),
        ("source_error", "spec.varsFiles[2]"),
    ]


def test_no_descriptor_is_left_open(workspace: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))
    files = SourceFiles(workspace)
    for path in ("vars/environment.json", "vars/absent", "vars", "a/b/c"):
        try:
            files.read(path)
        except SourceError:
            continue
    assert len(os.listdir("/proc/self/fd")) == before


def test_an_argument_of_the_command_line_is_split_into_path_and_base() -> None:
    assert split_argument("vars/a.yaml", "/here") == ("vars/a.yaml", "/here")
    assert split_argument("/there/a.yaml", "/here") == ("a.yaml", "/there")
