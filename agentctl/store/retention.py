"""Removing runs that are over, and the documents and artifacts that nothing refers to then.

Above: `agentctl gc`. Below: SQLite and the folder of blobs. Each run goes in one transaction of
its own, with every row it has, its start key and its references; a collection that dies between
two of them has removed some runs whole, and the next one goes on. Documents follow in one
transaction, then blobs, each with one unlink.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from attr import evolve, frozen

from agentctl.jsonvalue import canonical
from agentctl.machines.legality import legal_states
from agentctl.machines.sets import EFFECT_UNSETTLED, RECONCILIATION_DECIDED, RUN_FINAL
from agentctl.store.collect import Collected, collect
from agentctl.store.lease import is_alive, this_process
from agentctl.store.statements import SQL
from agentctl.value import Value

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Collection, Iterable

    from agentctl.clock import Instant
    from agentctl.jsonvalue import JsonValue
    from agentctl.machines.names import RunState
    from agentctl.store.sqlite import SqliteStore

# Children before what they refer to.
_FORGET = (
    "forget_start_key",
    "forget_iterations",
    "forget_approvals",
    "forget_reconciliations",
    "forget_compensations",
    "forget_late_reports",
    "forget_memory",
    "forget_stream_events",
    "forget_operations",
    "forget_cancel_request",
    "forget_lease",
    "forget_transitions",
    "forget_artifacts",
    "forget_effects",
    "forget_tasks",
    "forget_run",
)

Need = Literal["held", "uncertain_effect", "being_compensated"]


@frozen(kw_only=True, eq=False, repr=False)
class Selection(Value):
    """Which runs may go: those in `states`, but for the newest `keep`, that ended before."""

    states: Collection[RunState] = RUN_FINAL
    ended_before: Instant | None = None
    keep: int = 0


@frozen(kw_only=True, eq=False, repr=False)
class OverRun(Value):
    """A run that is over; `need` says why it stays all the same."""

    number: int
    id: str
    workflow: str
    state: str
    ended_at: Instant
    need: Need | None = None


@frozen(kw_only=True, eq=False, repr=False)
class Document(Value):
    """A plan or a workflow text that no run refers to, with its stored size."""

    digest: str
    kind: str
    size_bytes: int


@frozen(kw_only=True, eq=False, repr=False)
class Removal(Value):
    """What a collection removed, or would; `needed` are selected runs that stay."""

    runs: tuple[OverRun, ...]
    needed: tuple[OverRun, ...]
    documents: tuple[Document, ...]
    artifacts: Collected

    @property
    def freed_bytes(self) -> int:
        """How many bytes of files that is; the pages of the database are used again."""
        return self.artifacts.freed_bytes


def collect_runs(
    store: SqliteStore, selection: Selection | None, now: Instant, *, plan: bool = False
) -> Removal:
    """Remove the selected runs, then every orphan; with `plan` only say what that would be.

    Without a selection only orphans go. A run that is not over is never removed. Raises
    StoreBusy and another StoreError.
    """
    removed, needed = [], []
    for run in [] if selection is None else _selected(store, selection):
        need = _take_away(store, run, now, plan=plan)
        if need is None:
            removed.append(run)
        else:
            needed.append(evolve(run, need=need))
    going = canonical([one.number for one in removed]) if plan else "[]"
    return Removal(
        runs=tuple(removed),
        needed=tuple(needed),
        documents=_documents(store, going, plan=plan),
        artifacts=_artifacts(store, going, plan=plan),
    )


def _selected(store: SqliteStore, selection: Selection) -> list[OverRun]:
    """Return what is selected, the oldest first."""
    states = _listed(legal_states("gc").intersection(selection.states))
    with store.database.reading() as connection:
        rows = connection.execute(SQL["runs_over"], {"states": states}).fetchall()
    before = selection.ended_before
    found = [
        OverRun(
            number=row["number"],
            id=row["id"],
            workflow=row["workflow_name"],
            state=row["state"],
            ended_at=row["ended_at"],
        )
        for row in rows[selection.keep :]
        if before is None or row["ended_at"] <= before
    ]
    return found[::-1]


def _listed(states: Iterable[str]) -> str:
    names: list[JsonValue] = [*sorted(states)]
    return canonical(names)


def _take_away(store: SqliteStore, run: OverRun, now: Instant, *, plan: bool) -> Need | None:
    """Remove one run whole, or return why it has to stay."""
    number = {"run": run.number}
    with store.database.reading() if plan else store.database.writing() as connection:
        need = _need(connection, run, now)
        if need is None and not plan:
            for name in _FORGET:
                connection.execute(SQL[name], number)
    return need


def _need(connection: sqlite3.Connection, run: OverRun, now: Instant) -> Need | None:
    lease = connection.execute(SQL["lease"], (run.number,)).fetchone()
    if lease is not None and lease["pid"] is not None and is_alive(lease, this_process(), now):
        return "held"
    doubt = {
        "run": run.number,
        "unsettled": _listed(EFFECT_UNSETTLED),
        "decided": _listed(RECONCILIATION_DECIDED),
    }
    if connection.execute(SQL["has_doubt"], doubt).fetchone()[0]:
        return "uncertain_effect"
    undoing = {"id": run.id, "states": _listed(RUN_FINAL)}
    if connection.execute(SQL["is_being_compensated"], undoing).fetchone() is not None:
        return "being_compensated"
    return None


def _documents(store: SqliteStore, going: str, *, plan: bool) -> tuple[Document, ...]:
    with store.database.reading() if plan else store.database.writing() as connection:
        rows = connection.execute(SQL["orphaned_documents"], {"going": going}).fetchall()
        if not plan:
            connection.executemany(SQL["forget_document"], [(row["digest"],) for row in rows])
    return tuple(
        Document(digest=row["digest"], kind=row["kind"], size_bytes=row["size_bytes"])
        for row in rows
    )


def _artifacts(store: SqliteStore, going: str, *, plan: bool) -> Collected:
    """Remove loose bytes; in a plan, those that only the runs which would go refer to as well."""
    loose = collect(store, plan=plan)
    with store.database.reading() as connection:
        rows = connection.execute(SQL["freed_artifacts"], {"going": going}).fetchall()
    digests = [row["digest"].hex() for row in rows]
    freed = [(one, store.blobs.size(one)) for one in digests]
    stored = tuple((digest, size) for digest, size in freed if size is not None)
    return evolve(loose, blobs=loose.blobs + stored, kept=loose.kept - len(stored))
