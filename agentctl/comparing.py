"""The part of `Engine` that holds a stored run against the workflow as it is now.

Above: the door. Below: compiling and the comparison of plans. Nothing is stored or dispatched.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from agentctl.part import Part

if TYPE_CHECKING:
    from agentctl.effects.functions import FunctionAction
    from agentctl.engine.plan import Plan
    from agentctl.engine.records import RunHistory, RunRecord
    from agentctl.engine.recovery.divergence import Rehearsal
    from agentctl.engine.recovery.parked import WorkflowChanges
    from agentctl.loading import Loaded
    from agentctl.store.sqlite import SqliteStore


class Comparing(Part):
    """What changed since a run was started."""

    _functions: dict[str, FunctionAction]

    def changes(self, run_id: str) -> WorkflowChanges:
        """Say what the file that a run was started from says differently by now.

        `resume` goes on with the recorded plan whatever the file says; whoever wants to ask a
        person first calls this before it. Files that the workflow names were captured and count
        only with a change of the workflow itself. Raises UnknownRun.
        """
        from agentctl.engine.recovery.parked import WorkflowChanges

        history = self.store.load_run(run_id)
        run = history.run
        if not run.file:
            return WorkflowChanges(run=run, status="noFile")
        path = os.path.join(run.folder, run.file)
        text = _read(path)
        if text is None:
            return WorkflowChanges(run=run, path=path, status="missing")
        source = self.store.source_of(run_id)
        if text.decode("utf-8-sig", "surrogateescape") == source:
            return WorkflowChanges(run=run, path=path, status="same")
        return self._compared(history, path, text, source)

    def replay_against(self, loaded: Loaded, run_id: str) -> Rehearsal:
        """Say whether this workflow would still produce a recorded history.

        Its programs run in memory and get the recorded answers. Raises UnknownRun, StateError for
        a run that has no history of its own, and DocumentError when the recorded inputs do not
        fit the workflow.
        """
        return rehearse_stored(self.store, run_id, loaded)

    def _compared(
        self, history: RunHistory, path: str, text: bytes, source: str
    ) -> WorkflowChanges:
        from agentctl.engine.plan import plan_from_json
        from agentctl.engine.recovery.changes import compare_plans, first_roots
        from agentctl.engine.recovery.parked import WorkflowChanges
        from agentctl.errors import DocumentError

        run = history.run
        try:
            now = self._plan_of(text, path, run)
        except DocumentError as error:
            return WorkflowChanges(
                run=run, path=path, status="invalid", diagnostics=error.diagnostics
            )
        recorded = plan_from_json(history.plan)
        try:
            # Files that both texts name are then the same on both sides.
            then = self._plan_of(source.encode("utf-8", "surrogateescape"), path, run)
        except DocumentError:
            then = recorded
        found = compare_plans(then, now)
        roots, restarts = first_roots(then, now, {one.id: one for one in history.tasks})
        return WorkflowChanges(
            run=run,
            path=path,
            status="changed" if found else "same",
            plan_digest=now.plan_digest,
            found=found,
            roots=tuple(roots),
            restarts=restarts,
        )

    def _plan_of(self, text: bytes, path: str, run: RunRecord) -> Plan:
        from agentctl.loading import load_again

        functions = self._functions.values()
        return load_again(
            text, path, workspace=run.workspace, variables=run.vars, functions=functions
        ).plan


def rehearse_stored(store: SqliteStore, run_id: str, loaded: Loaded) -> Rehearsal:
    """Run a workflow against the record that a store has of a run; as `replay_against`."""
    from agentctl.engine.recovery.rehearsal import rehearse
    from agentctl.errors import StateError

    history = store.load_run(run_id)
    run = history.run
    if run.mode in ("replay", "compensation"):
        raise StateError(
            f"run {run_id} is a {run.mode}, which no workflow file produces",
            help=f"compare its source: agentctl replay {run.source_run_id} --against FILE",
            run_id=run_id,
        )
    inputs = loaded.inputs(run.inputs)
    return rehearse(history, store.transitions(run_id), loaded.plan, inputs)


def _read(path: str) -> bytes | None:
    """Return a workflow file's bytes, one over the limit at most; None when it is gone."""
    from agentctl.limits import DOCUMENT_BYTES_MAX

    try:
        with open(path, "rb") as file:
            return file.read(DOCUMENT_BYTES_MAX + 1)
    except (OSError, ValueError):
        return None
