"""The part of `Engine` that says whether a start under a key has its run already.

Above: the door. Below: the operation that starts once. Looking needs nothing that a run needs: no
credential, no network, and not even a database.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentctl.part import Part

if TYPE_CHECKING:
    from pathlib import Path

    from agentctl.engine.events import RunOutcome
    from agentctl.engine.operations.start import StartRequest
    from agentctl.engine.plan import Plan
    from agentctl.jsonvalue import JsonObject
    from agentctl.loading import Loaded


class Starting(Part):
    """Look for what was started before."""

    _db: Path

    def _workspace_of(self, plan: Plan, workspace: str | Path | None) -> str:
        raise NotImplementedError

    def started(
        self, loaded: Loaded, *, inputs: JsonObject | None = None, key: str
    ) -> RunOutcome | None:
        """Return the run that a start with this key would return, or None if it would start one.

        Raises as `start` does for a key that cannot be one, and StartKeyReused.
        """
        from agentctl.engine.operations.once import started

        request = self._start_request(loaded, inputs, None, key)
        return started(request, self.store if self._db.exists() else None)

    def _start_request(
        self,
        loaded: Loaded,
        inputs: JsonObject | None,
        workspace: str | Path | None,
        key: str | None,
    ) -> StartRequest:
        """Return what a start of a workflow asks for."""
        from agentctl.engine.operations.start import StartRequest

        return StartRequest(
            plan=loaded.plan,
            inputs=loaded.inputs(inputs),
            vars=loaded.overrides,
            workspace=self._workspace_of(loaded.plan, workspace),
            folder=loaded.folder,
            file=loaded.file_name,
            source=loaded.text,
            key=key,
        )
