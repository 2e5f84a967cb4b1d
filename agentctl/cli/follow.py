"""Following a run while it moves: JSON lines for programs, plain lines or a live table for people.

Above: the commands that move a run. Below: the engine's events. A follower only shows; it never
slows a run by more than the writing itself.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

from agentctl.cli.paint import visible
from agentctl.clock import iso

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from agentctl.cli.console import Console
    from agentctl.engine.events import Event
    from agentctl.engine.records import RunHistory
    from agentctl.jsonvalue import JsonObject

    Listener = Callable[[Event], None]


class Subscribable(Protocol):
    """Whatever sends events; the engine does."""

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Call the listener with every event until the returned function is called."""
        ...


@contextmanager
def following(console: Console, engine: Subscribable, order: tuple[str, ...]) -> Iterator[None]:
    """Show what happens inside the block, as the console's output mode wants it.

    `order` are the task ids of the plan, when known.
    """
    with showing(console, order) as see:
        if see is None:
            yield
            return
        stop = engine.subscribe(see)
        try:
            yield
        finally:
            stop()


@contextmanager
def showing(console: Console, order: tuple[str, ...]) -> Iterator[Listener | None]:
    """Give what shows an event in the console's output mode; None where only the end counts."""
    if console.output == "json":
        yield None
    elif console.is_human and _is_terminal():
        from agentctl.cli.live import LiveTable

        with LiveTable(order, colour=console.colour) as shown:
            yield shown.see
    else:
        yield _lines(console) if console.is_human else _json_lines(console)


def plan_order(history: RunHistory) -> tuple[str, ...]:
    """Return the task ids of a stored run, in compiled order."""
    return tuple(task.id for task in sorted(history.tasks, key=lambda task: task.position))


def task_of(event: Event) -> str | None:
    """Return the task that an event is about; None when it is about the run as a whole."""
    if not event.entity or event.machine in ("run", "approval"):
        return None
    # An effect is named TASK/ATTEMPT.ORDINAL.
    return event.entity.partition("/")[0]


def event_data(event: Event) -> JsonObject:
    """Return the public JSON of an event."""
    data: JsonObject = {
        "runId": event.run_id,
        "sequence": event.sequence,
        "eventType": event.event_type,
        "machine": event.machine or None,
        "entity": event.entity,
        "taskId": task_of(event),
        "attempt": event.attempt,
        "source": event.source or None,
        "target": event.target or None,
        "payload": event.payload,
        "at": iso(event.at),
    }
    if not event.machine:
        data |= {
            "effectId": event.effect_id,
            "providerSequence": event.provider_sequence,
            "truncated": event.truncated,
        }
    if event.source_run_id is not None:
        data["sourceRunId"] = event.source_run_id
    return data


def plain_line(event: Event) -> str | None:
    """Return an event as one line for a person, or None when it says nothing new."""
    attempt = f" (attempt {event.attempt})" if event.attempt > 1 else ""
    if not event.machine:
        return visible(f"[stream {task_of(event)}{attempt}] {event.event_type}{_excerpt(event)}")
    if event.machine == "task":
        return visible(f"[task {event.entity}] {event.source} -> {event.target}{attempt}")
    if event.machine == "run":
        return visible(f"[run {event.run_id}] {event.source} -> {event.target}")
    return None


def _excerpt(event: Event) -> str:
    payload = event.payload
    text = payload.get("text", payload.get("delta")) if isinstance(payload, dict) else payload
    return f" {text[:200]}" if isinstance(text, str) else ""


def _lines(console: Console) -> Listener:
    def show(event: Event) -> None:
        line = plain_line(event)
        if line is not None:
            console.note(line)

    return show


def _json_lines(console: Console) -> Listener:
    def show(event: Event) -> None:
        console.document({"kind": "StreamEvent", "data": event_data(event)})

    return show


def _is_terminal() -> bool:
    import sys

    return sys.stdout.isatty() and sys.stderr.isatty()
