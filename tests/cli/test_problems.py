"""Diagnostics as text: place, code, the line with a caret, help; nothing steers a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from agentctl.cli.paint import duration, size, table, visible
from agentctl.cli.problems import as_json, render
from agentctl.diagnostics import Diagnostic

if TYPE_CHECKING:
    from pathlib import Path


def _problem(file: Path, line: int | None = 2, column: int | None = 7) -> Diagnostic:
    return Diagnostic(
        code="missing_reference",
        message="no action 'asign'",
        file=str(file),
        line=line,
        column=column,
        path="spec.tasks[0].uses",
        help="did you mean 'assign'?",
    )


def test_a_problem_shows_its_line_with_a_caret_under_the_word(tmp_path: Path) -> None:
    file = tmp_path / "w.yaml"
    file.write_text("tasks:\nuses: action:asign # wrong\n", encoding="utf-8")
    shown = render([_problem(file)], colour=False).splitlines()
    assert shown[0] == f"{file}:2:7: error[missing_reference]: no action 'asign'"
    assert shown[1] == " 2 | uses: action:asign # wrong"
    assert shown[2] == "   |       ^^^^^^^^^^^^"
    assert shown[3] == "   at: spec.tasks[0].uses"
    assert shown[4] == "   help: did you mean 'assign'?"
    assert shown[5] == "1 error"


def test_a_problem_without_a_place_shows_none(tmp_path: Path) -> None:
    shown = render([_problem(tmp_path / "absent.yaml", None, None)], colour=False)
    assert shown.startswith(f"{tmp_path / 'absent.yaml'}: error[missing_reference]")
    assert "^" not in shown


def test_a_place_outside_the_file_quotes_nothing(tmp_path: Path) -> None:
    file = tmp_path / "w.yaml"
    file.write_bytes(b"\xff\xfe\n")
    assert "|" not in render([_problem(file, 99, 1)], colour=False)
    assert "^" not in render([_problem(file, 1, 99)], colour=False)


def test_every_field_of_a_problem_is_in_its_json(tmp_path: Path) -> None:
    assert as_json([_problem(tmp_path / "w.yaml")]) == [
        {
            "code": "missing_reference",
            "severity": "error",
            "message": "no action 'asign'",
            "file": str(tmp_path / "w.yaml"),
            "line": 2,
            "column": 7,
            "path": "spec.tasks[0].uses",
            "help": "did you mean 'assign'?",
        }
    ]


@given(st.text())
def test_visible_text_has_no_control_character(text: str) -> None:
    shown = visible(text)
    assert all(one.isprintable() or one == "\t" for one in shown)
    if text.isprintable():
        assert shown == text


@given(st.lists(st.tuples(st.text(max_size=9), st.text(max_size=9)), max_size=5))
def test_a_table_has_one_line_for_each_row(rows: list[tuple[str, str]]) -> None:
    assert len(table(("a", "b"), rows).split("\n")) == len(rows) + 1


def test_lengths_and_sizes_are_said_in_units_a_person_reads() -> None:
    assert [duration(one) for one in (0.012, 2.34, 75, 3_700, 90_000)] == [
        "12ms",
        "2.3s",
        "1m 15s",
        "1h 1m",
        "1d 1h",
    ]
    assert [size(one) for one in (17, 2_048, 3 << 20)] == ["17 B", "2.0 KiB", "3.0 MiB"]
