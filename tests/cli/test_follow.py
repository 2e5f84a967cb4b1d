"""Following a run: lines for programs, lines for people, and the live table."""

from __future__ import annotations

import io

import pytest
from rich.console import Console as RichConsole

from agentctl.cli.follow import event_data, plain_line, task_of
from agentctl.cli.live import LiveTable
from agentctl.cli.spans import seconds
from agentctl.engine.events import Event
from agentctl.errors import UsageError

AT = 1_700_000_000_000_000


def _task_event(task: str, event: str, source: str, target: str, at: int = AT) -> Event:
    return Event(
        run_id="run-1",
        sequence=3,
        event_type=f"task.{event}",
        machine="task",
        entity=task,
        source=source,
        target=target,
        attempt=1,
        at=at,
    )


def _stream_event(text: str) -> Event:
    return Event(
        run_id="run-1",
        sequence=4,
        event_type="text.delta",
        machine="",
        entity="write",
        source="",
        target="",
        attempt=1,
        at=AT,
        payload={"text": text},
        source_run_id="run-0",
    )


def test_an_event_names_its_run_task_and_move() -> None:
    data = event_data(_task_event("write", "start", "ready", "running"))
    assert data["taskId"] == "write"
    assert (data["source"], data["target"]) == ("ready", "running")
    assert data["at"] == "2023-11-14T22:13:20.000Z"
    assert "sourceRunId" not in data


def test_a_replayed_event_names_its_source_run() -> None:
    assert event_data(_stream_event("x"))["sourceRunId"] == "run-0"


def test_an_effect_belongs_to_the_task_that_asked_for_it() -> None:
    event = Event(
        run_id="r",
        sequence=1,
        event_type="effect.start",
        machine="effect",
        entity="write/1.0",
        source="requested",
        target="started",
        attempt=1,
        at=AT,
    )
    assert task_of(event) == "write"
    assert plain_line(event) is None


def test_a_person_reads_one_line_for_each_move_and_stream_record() -> None:
    assert plain_line(_task_event("write", "start", "ready", "running")) == (
        "[task write] ready -> running"
    )
    assert plain_line(_stream_event("hel\x1blo")) == "[stream write] text.delta hel\\x1blo"


def test_the_live_table_shows_state_time_and_progress() -> None:
    shown = LiveTable(("write", "check"), colour="never")
    shown.see(_task_event("write", "start", "ready", "running"))
    shown.see(_task_event("write", "succeed", "running", "succeeded", AT + 2_500_000))
    shown.see(_stream_event("x"))
    console = RichConsole(file=io.StringIO(), width=100)
    with console.capture() as captured:
        console.print(shown.picture())
    text = captured.get()
    assert "succeeded" in text
    assert "2.5s" in text
    assert "pending" in text
    assert "1/2 tasks" in text


def test_a_long_run_shows_the_tasks_that_move() -> None:
    shown = LiveTable(tuple(f"t{number}" for number in range(100)), colour="never")
    shown.see(_task_event("t99", "start", "ready", "running"))
    console = RichConsole(file=io.StringIO(), width=100)
    with console.capture() as captured:
        console.print(shown.picture())
    assert "t99" in captured.get()
    assert "76 not shown" in captured.get()


@pytest.mark.parametrize(
    ("text", "expected"), [("90", 90), ("90s", 90), ("15m", 900), ("1.5h", 5400), ("2D", 172_800)]
)
def test_a_span_is_read_in_seconds(text: str, expected: float) -> None:
    assert seconds("--older-than", text) == expected


@pytest.mark.parametrize("text", ["", "h", "-1h", "1y", "1h30m", "nan"])
def test_a_wrong_span_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        seconds("--older-than", text)
