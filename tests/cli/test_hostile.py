"""Hostile input: each gives one clear error with a code, and never a traceback."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from tests.cli.harness import EXAMPLES, Result, run_cli, run_json

if TYPE_CHECKING:
    from pathlib import Path

HELLO = str(EXAMPLES / "v1" / "hello.yaml")


def _refused(shown: Result, *codes: str) -> None:
    assert shown.stderr == ""
    assert "Traceback" not in shown.stdout
    assert shown.at("/error/code") in codes, shown.stdout


def test_a_document_that_is_not_utf_8_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "w.yaml"
    file.write_bytes(b"apiVersion: \xff\xfe\n")
    shown = run_json("check", str(file)).expect(2)
    _refused(shown, "invalid_document")


def test_a_document_over_one_mebibyte_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "w.yaml"
    file.write_bytes(b"#" * (1024 * 1024 + 1))
    _refused(run_json("check", str(file)).expect(2), "invalid_document")


def test_a_missing_document_names_the_file(tmp_path: Path) -> None:
    shown = run_json("check", str(tmp_path / "absent.yaml")).expect(2)
    assert "absent.yaml" in shown.stdout


def test_an_escape_sequence_in_a_document_does_not_reach_the_terminal(tmp_path: Path) -> None:
    file = tmp_path / "w.yaml"
    file.write_text(
        'apiVersion: agentctl.dev/v1\nkind: Workflow\nevil: "\x1b[31m"\n', encoding="utf-8"
    )
    assert "\x1b" not in run_cli("check", str(file), "--color", "never").expect(2).stderr


def test_a_file_name_that_is_not_utf_8_still_gives_json(tmp_path: Path) -> None:
    name = os.fsdecode(bytes(tmp_path) + b"/\xff.yaml")
    _refused(run_json("check", name).expect(2), "invalid_document", "usage")


@pytest.mark.parametrize("command", ["inspect", "resume", "replay", "cancel"])
def test_an_unknown_run_is_named(tmp_path: Path, command: str) -> None:
    db = str(tmp_path / "t.db")
    run_json("db", "migrate", "--db", db).expect(0)
    shown = run_json(command, "no-such-run", "--db", db).expect(2)
    _refused(shown, "unknown_run")
    assert "no-such-run" in shown.text("/error/message")


def test_a_file_that_is_no_database_is_refused_and_kept(tmp_path: Path) -> None:
    db = tmp_path / "t.db"
    db.write_bytes(b"this is not a database, it is a text " * 100)
    before = db.read_bytes()
    shown = run_json("run", HELLO, "--workspace", str(tmp_path), "--db", str(db)).expect(5)
    _refused(shown, "store_corrupt")
    assert db.read_bytes() == before


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is read-only for root")
def test_a_read_only_folder_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    shown = run_json("run", HELLO, "--db", str(tmp_path / "t.db")).expect(5)
    _refused(shown, "store_read_only")


def test_a_database_below_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x", encoding="utf-8")
    shown = run_json("run", HELLO, "--db", str(tmp_path / "file" / "t.db")).expect(5)
    assert "Traceback" not in shown.stdout


@pytest.mark.parametrize(
    "more",
    [
        ("--input", "novalue"),
        ("--inputs", "{"),
        ("--inputs", "[]"),
        ("--inputs", "{}", "--inputs-file", "x"),
        ("--inputs-file", "/no/such/file"),
        ("--var", "a=not json"),
        ("--vars-file", "/no/such/file"),
    ],
    ids=" ".join,
)
def test_wrong_inputs_are_usage_errors(tmp_path: Path, more: tuple[str, ...]) -> None:
    shown = run_json("run", HELLO, "--db", str(tmp_path / "t.db"), *more).expect(2)
    assert shown.at("/error/exitCode") == 2
    assert not (tmp_path / "t.db").exists()
