"""`export`, `import` and `inspect --file`: one run as one file that proves itself."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.cli.doubt import Case, with_probe
from tests.cli.harness import run_cli, run_json
from tests.cli.test_approvals import Desk as Asking
from tests.cli.test_journeys import Desk
from tests.cli.test_start_keys import writing

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

Lines = list[dict[str, Any]]


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """Return a fresh folder with a database."""
    return Desk(tmp_path)


def exported(desk: Desk, *more: str) -> tuple[str, str]:
    """Run a workflow that writes, and export it; return the run's id and the file."""
    run_id = desk.run(desk.file("w.json", writing())).expect(0).text("/data/runId")
    file = str(desk.folder / "run.jsonl")
    desk.on("export", run_id, file, *more).expect(0)
    return run_id, file


def lines(file: str) -> Lines:
    """Return the lines of an export."""
    with open(file, encoding="utf-8") as text:
        return [json.loads(line) for line in text]


def sealed(found: Lines) -> bytes:
    """Return lines with an end that fits them, as somebody who knows the format would write."""
    body = b"".join(json.dumps(one).encode() + b"\n" for one in found[:-1])
    end = {"record": "end", "lines": len(found) - 1, "sha256": hashlib.sha256(body).hexdigest()}
    return body + json.dumps(end).encode() + b"\n"


def without(view: Any, *names: str) -> Any:
    """Return an inspection without what belongs to a database."""
    data = view.at("/data")
    return {name: value for name, value in data.items() if name not in names}


def test_a_run_is_the_same_in_its_file_and_where_it_is_imported(desk: Desk) -> None:
    run_id, file = exported(desk, "--artifacts")
    here = desk.inspect(run_id)
    read = run_json("inspect", "--file", file).expect(0)
    assert read.at("/data") == here.at("/data")
    other = ("--db", str(desk.folder / "other.db"))
    taken = run_json("import", file, *other).expect(0)
    assert taken.at("/data/runId") == run_id
    with open(file, "rb") as data:
        assert taken.at("/data/sha256") == hashlib.sha256(data.read()).hexdigest()
    assert run_json("inspect", run_id, *other).expect(0).at("/data") == here.at("/data")
    assert run_json("verify", run_id, *other).expect(0).at("/data/valid") is True
    assert run_json("db", "check", *other).expect(0).at("/data/valid") is True
    again = str(desk.folder / "again.jsonl")
    run_json("export", run_id, again, "--artifacts", *other).expect(0)
    assert lines(again)[1:-1] == lines(file)[1:-1]
    assert run_json("replay", run_id, *other).expect(0).at("/data/state") == "succeeded"


def test_a_file_is_lines_that_people_can_read(desk: Desk) -> None:
    run_id, file = exported(desk)
    head, *rows, end = lines(file)
    assert (head["format"], head["runId"]) == ("agentctl.dev/run-export/v1", run_id)
    run = next(one for one in rows if one["record"] == "run")
    assert run["inputs"] == {"text": "first"}
    moves = [f"{one['machine']}.{one['event']}" for one in rows if one["record"] == "transition"]
    assert moves[0] == "run.start"
    assert moves[-1] == "run.succeed"
    assert end["lines"] == len(rows) + 1
    shown = run_cli("inspect", "--file", file).expect(0).stdout
    assert run_id in shown


def test_a_run_with_findings_and_streams_is_the_same_in_its_file(tmp_path: Path) -> None:
    case = Case(tmp_path, with_probe({"value": {"outcome": "unknown"}}), at=4)
    file = str(tmp_path / "run.jsonl")
    case.json("export", case.run_id, file).expect(0)
    read = run_json("inspect", "--file", file).expect(0)
    owned = ("run", "stillness")
    assert without(read, *owned) == without(case.json("inspect", case.run_id), *owned)


def test_a_run_that_is_not_over_can_be_looked_at_and_not_imported(tmp_path: Path) -> None:
    desk = Asking(tmp_path)
    run_id = desk.parked()
    desk.json("export", run_id, "run.jsonl").expect(0)
    read = run_json("inspect", "--file", str(tmp_path / "run.jsonl")).expect(0)
    assert read.at("/data/run/state") == "paused"
    refused = run_json(
        "import", str(tmp_path / "run.jsonl"), "--db", str(tmp_path / "new.db")
    ).expect(2)
    assert refused.at("/error/code") == "invalid_export"
    assert "twice" in refused.text("/error/message")


def test_bytes_that_are_nowhere_are_asked_for(desk: Desk) -> None:
    _, file = exported(desk)
    other = ("--db", str(desk.folder / "other.db"))
    refused = run_json("import", file, *other).expect(2)
    assert "--artifacts" in refused.text("/error/help")
    assert run_json("runs", *other).expect(0).at("/data") == []


def test_a_run_that_is_here_is_not_taken_twice(desk: Desk) -> None:
    run_id, file = exported(desk)
    refused = run_json("import", file, "--db", str(desk.db)).expect(2)
    assert "here already" in refused.text("/error/message")
    assert refused.at("/error/runId") == run_id


def change_row(table: str, column: str, value: object) -> Callable[[Lines], None]:
    """Return what changes a column of the last row of a table."""

    def change(found: Lines) -> None:
        row = [one for one in found if one["record"] == table][-1]
        assert row.get(column) != value
        row[column] = value

    return change


def drop_move(found: Lines) -> None:
    """Take the last move out."""
    place = max(at for at, one in enumerate(found) if one.get("record") == "transition")
    del found[place]


CHANGES = {
    "actor": change_row("transition", "actor", "mallory"),
    "event": change_row("transition", "event", "fail"),
    "detail": change_row("transition", "detail", {"why": "forged"}),
    "state": change_row("run", "state", "failed"),
    "unknown state": change_row("run", "state", "lost"),
    "column": change_row("task", "attempt", "many"),
    "no column": change_row("task", "colour", "red"),
    "table": change_row("task", "record", "lease"),
    "place": change_row("task", "place", -1),
    "digest": change_row("transition", "digest", "zz"),
    "bytes": change_row("bytes", "base64", "AAAA"),
    "no bytes": lambda found: found.remove(found[-2]),
    "move": drop_move,
}


@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.parametrize("knowing", [False, True])
def test_whatever_is_changed_is_found(desk: Desk, name: str, knowing: bool) -> None:
    _, file = exported(desk, "--artifacts")
    found = [one if "record" in one else {**one, "record": "head"} for one in lines(file)]
    CHANGES[name](found)
    found[0].pop("record")
    end = found[-1]
    plain = b"".join(json.dumps(one).encode() + b"\n" for one in [*found[:-1], end])
    (desk.folder / "bad.jsonl").write_bytes(sealed(found) if knowing else plain)
    bad = str(desk.folder / "bad.jsonl")
    assert run_json("inspect", "--file", bad).expect(5).at("/error/code") == "export_integrity"
    other = ("--db", str(desk.folder / "other.db"))
    assert run_json("import", bad, *other).expect(5).at("/error/code") == "export_integrity"
    assert run_json("runs", *other).expect(0).at("/data") == []


@pytest.mark.parametrize("at", [0.2, 0.6, 0.999])
def test_a_file_that_is_cut_off_is_found(desk: Desk, at: float) -> None:
    _, file = exported(desk)
    whole = (desk.folder / "run.jsonl").read_bytes()
    (desk.folder / "run.jsonl").write_bytes(whole[: int(len(whole) * at)])
    shown = run_json("inspect", "--file", file).expect(5)
    assert shown.at("/error/code") == "export_integrity"


@pytest.mark.parametrize("text", [b"", b"{}\n", b"\xff\xfe", b"[1]\n"])
def test_what_is_no_export_is_refused(desk: Desk, text: bytes) -> None:
    (desk.folder / "no.jsonl").write_bytes(text)
    refused = run_json("inspect", "--file", str(desk.folder / "no.jsonl")).expect(2)
    assert "is no exported run" in refused.text("/error/message")


def test_an_export_of_another_schema_names_who_wrote_it(desk: Desk) -> None:
    _, file = exported(desk)
    found = lines(file)
    found[0] = {**found[0], "schemaVersion": 99, "agentctl": "9.9"}
    (desk.folder / "run.jsonl").write_bytes(sealed(found))
    refused = run_json("inspect", "--file", file).expect(2)
    assert "schema 99" in refused.text("/error/message")
    assert "agentctl 9.9" in refused.text("/error/help")


def test_an_export_replaces_no_file(desk: Desk) -> None:
    run_id, file = exported(desk)
    before = lines(file)
    assert "exists" in desk.on("export", run_id, file).expect(2).text("/error/message")
    assert lines(file) == before
    left = sorted(path.name for path in desk.folder.iterdir() if "part" in path.name)
    assert left == []


def test_an_export_needs_the_bytes_that_it_is_to_hold(desk: Desk) -> None:
    run_id, _ = exported(desk)
    for blob in desk.db.with_name("runtime.db.artifacts").glob("??/*"):
        blob.write_bytes(b"other")
    refused = desk.on("export", run_id, str(desk.folder / "b.jsonl"), "--artifacts").expect(5)
    assert refused.at("/error/code") == "artifact_integrity"
    assert not (desk.folder / "b.jsonl").exists()
