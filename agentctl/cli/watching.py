"""Following a run that another process moves, until it ends, waits, or nobody moves it.

Above: `agentctl watch`. Below: the store, read piece by piece. Nothing is written and no lock is
held; a run that ended before is told from its journal in the same way.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from attr import define, field

from agentctl.cli.holding import is_alive
from agentctl.engine.stream import stream_event
from agentctl.engine.telling import Teller
from agentctl.machines.sets import RUN_ACTIVE
from agentctl.store.following import Follower

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentctl.engine.events import Event, Listener
    from agentctl.engine.records import RunRecord
    from agentctl.store.following import Page
    from agentctl.store.sqlite import SqliteStore

# Asking SQLite whether anything changed takes microseconds, so this costs next to nothing.
PAUSE_SECONDS = 0.04
# Whether the owner still lives is asked of the system, and less often.
PAUSES_BETWEEN_LOOKS = 25


@define(eq=False, repr=False)
class Watch:
    """One run being followed; what comes before the move `first` is not shown."""

    store: SqliteStore
    run: RunRecord
    first: int
    see: Listener | None
    teller: Teller = field(init=False)

    def __attrs_post_init__(self) -> None:
        """Begin before the first move."""
        self.teller = Teller(self.run)

    def to_the_end(self) -> None:
        """Show what is stored, and what comes, until nothing more can come."""
        follower = Follower(self.store, self.run.id)
        idle = 0
        while True:
            page = follower.next_page()
            if page is not None:
                idle = 0
                self._show(page)
                if page.state not in RUN_ACTIVE:
                    return
            if idle % PAUSES_BETWEEN_LOOKS == 0 and not is_alive(self.store.holder(self.run.id)):
                # It may have ended between the two reads.
                last = follower.next_page()
                if last is not None:
                    self._show(last)
                return
            idle += 1
            time.sleep(PAUSE_SECONDS)

    def _show(self, page: Page) -> None:
        for event in self._events(page):
            if self.see is not None:
                self.see(event)

    def _events(self, page: Page) -> Iterator[Event]:
        """Yield moves and stream records in the order in which they were stored."""
        records = iter(page.records)
        record = next(records, None)
        for sequence, move in page.moves:
            while record is not None and record.after < sequence:
                if record.after + 1 >= self.first:
                    yield stream_event(self.run.id, self.run.source_run_id, record)
                record = next(records, None)
            event = self.teller.move(sequence, move)
            if sequence >= self.first:
                yield event
        while record is not None:
            if record.after + 1 >= self.first:
                yield stream_event(self.run.id, self.run.source_run_id, record)
            record = next(records, None)
