"""The live table of a run on a terminal: tasks with state, attempt and duration, and a bar.

Above: `follow`. Below: rich. Only imported when both streams are terminals; it draws on standard
error, so that the result on standard output stays alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console as RichConsole
from rich.console import Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table as RichTable
from rich.text import Text

from agentctl.cli.follow import task_of
from agentctl.cli.paint import duration, visible
from agentctl.cli.tones import tone
from agentctl.clock import SystemClock
from agentctl.machines.compiled import TASK
from agentctl.machines.sets import TASK_FINAL, TASK_LIVE

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

    from rich.console import RenderableType

    from agentctl.cli.console import Colour
    from agentctl.engine.events import Event

_ROWS_MAX = 24


class _Row:
    """What is known of one task."""

    def __init__(self) -> None:
        self.state: str = TASK.initial
        self.attempt = 0
        self.since = 0
        self.ended = 0
        self.note = ""


class LiveTable:
    """Draws the tasks of a run again and again until its block ends."""

    def __init__(self, order: tuple[str, ...], *, colour: Colour) -> None:
        self._rows = {name: _Row() for name in order}
        self._clock = SystemClock()
        self._live = Live(
            console=RichConsole(stderr=True, highlight=False, no_color=colour == "never"),
            get_renderable=self.picture,
            refresh_per_second=8,
        )

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._live.refresh()
        self._live.stop()

    def see(self, event: Event) -> None:
        """Take in one event."""
        name = task_of(event)
        if name is None:
            return
        row = self._rows.setdefault(name, _Row())
        if not event.machine:
            row.note = event.event_type
            return
        if event.machine != TASK.name:
            return
        row.state = event.target
        row.attempt = max(row.attempt, event.attempt)
        if event.target in TASK_LIVE and not row.since:
            row.since = event.at
        if event.target in TASK_FINAL:
            row.ended = event.at

    def picture(self) -> RenderableType:
        """Return the table and the bar as they are now."""
        table = RichTable(box=None, pad_edge=False, header_style="dim")
        for head in ("task", "state", "attempt", "time", ""):
            table.add_column(head, no_wrap=True)
        for name, row in self._shown():
            table.add_row(
                visible(name),
                Text(row.state, style=tone(row.state)),
                str(row.attempt or ""),
                self._time(row),
                visible(row.note),
            )
        done = sum(row.state in TASK_FINAL for row in self._rows.values())
        total = len(self._rows)
        bar = ProgressBar(total=max(total, 1), completed=done, width=40)
        hidden = total - len(self._shown())
        tail = f"{done}/{total} tasks" + (f", {hidden} not shown" if hidden else "")
        return Group(table, bar, Text(tail, style="dim"))

    def _shown(self) -> list[tuple[str, _Row]]:
        """Return the rows that fit: those that move first, then the latest that ended."""
        rows = list(self._rows.items())
        if len(rows) <= _ROWS_MAX:
            return rows
        ranked = sorted(rows, key=lambda one: (one[1].state not in TASK_LIVE, -one[1].ended))
        kept = {name for name, _ in ranked[:_ROWS_MAX]}
        return [one for one in rows if one[0] in kept]

    def _time(self, row: _Row) -> str:
        if not row.since:
            return ""
        end = row.ended or self._clock.now()
        return duration((end - row.since) / 1_000_000)
