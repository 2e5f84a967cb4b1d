"""The part of `Engine` that makes new runs out of old ones: retry, repair, fork and replay.

Above: the door. Below: the operations. All but a replay, which does nothing, have a plan that can
be read before anything happens.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentctl.blocking import blocking
from agentctl.discretion import Discreet

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentctl.clock import Clock
    from agentctl.engine.events import Listener, RunOutcome
    from agentctl.engine.operations.derive import Derivation
    from agentctl.engine.plan import Plan
    from agentctl.engine.ports import Entropy
    from agentctl.engine.recovery.planning import Boundary, RecoveryPlan
    from agentctl.engine.runner import Runner, RunPorts
    from agentctl.loading import Loaded


class Deriving(Discreet):
    """Retry, repair, fork and replay."""

    _clock: Clock
    _entropy: Entropy
    _listeners: list[Listener]

    def _ports(self, plan: Plan) -> RunPorts:
        raise NotImplementedError

    async def _run(self, runner: Runner) -> RunOutcome:
        raise NotImplementedError

    def plan_retry(
        self,
        loaded: Loaded,
        source: str,
        *,
        roots: Sequence[str] = (),
        failed: bool = False,
        restart_successful: bool = False,
    ) -> RecoveryPlan:
        """Say what a retry would take over and run. Raises as `retry`, but for a blocked plan."""
        return self._retry(
            loaded, source, _boundary(roots, failed=failed, restarts=restart_successful)
        ).recovery

    async def retry(
        self,
        loaded: Loaded,
        source: str,
        *,
        roots: Sequence[str] = (),
        failed: bool = False,
        restart_successful: bool = False,
        reason: str = "",
        timeout_seconds: float | None = None,
    ) -> RunOutcome:
        """Run the same workflow again from its failed tasks, or from `roots`, in a new run.

        Tasks that nothing of this reaches are taken over with their outputs. Raises UsageError
        unless exactly one of `roots` and `failed` is given, UnknownRun, StateError for a source
        that is not over or another workflow, and RecoveryBlocked with the plan.
        """
        found = self._retry(
            loaded, source, _boundary(roots, failed=failed, restarts=restart_successful)
        )
        return await self._derived(found, loaded, reason, timeout_seconds)

    def plan_repair(
        self,
        loaded: Loaded,
        source: str,
        *,
        roots: Sequence[str],
        restart_successful: bool = False,
    ) -> RecoveryPlan:
        """Say what a repair would take over and run. Raises as `repair`, but for a blocked plan."""
        return self._repair(loaded, source, _boundary(roots, restarts=restart_successful)).recovery

    async def repair(
        self,
        loaded: Loaded,
        source: str,
        *,
        roots: Sequence[str],
        restart_successful: bool = False,
        reason: str = "",
        timeout_seconds: float | None = None,
    ) -> RunOutcome:
        """Run a changed workflow from `roots` on, with all that provably serves again.

        Raises UsageError without roots, DocumentError when the source's inputs do not fit the
        changed workflow, UnknownRun, StateError for a source that is not over, and
        RecoveryBlocked with the plan.
        """
        found = self._repair(loaded, source, _boundary(roots, restarts=restart_successful))
        return await self._derived(found, loaded, reason, timeout_seconds)

    def plan_fork(self, source: str, *, roots: Sequence[str] = ()) -> RecoveryPlan:
        """Say what a fork would take over and run. Raises UnknownRun."""
        return self._fork(source, roots).recovery

    async def fork(
        self,
        source: str,
        *,
        roots: Sequence[str] = (),
        reason: str = "",
        timeout_seconds: float | None = None,
    ) -> RunOutcome:
        """Run the recorded plan again with fresh effects, from the start or from `roots`.

        Effects happen again, also those that the source confirmed: that is what a fork is for.
        Raises UnknownRun, and RecoveryBlocked with the plan.
        """
        return await self._derived(self._fork(source, roots), None, reason, timeout_seconds)

    async def replay(self, run_id: str) -> RunOutcome:
        """Store a recorded copy of a finished run; nothing is dispatched."""
        from agentctl.engine.operations.replay import replay

        return replay(run_id, self.store, self._entropy, self._clock.now(), self._listeners)

    retry_sync = blocking(retry)
    repair_sync = blocking(repair)
    fork_sync = blocking(fork)
    replay_sync = blocking(replay, needs_loop=False)

    def _retry(self, loaded: Loaded, source: str, boundary: Boundary) -> Derivation:
        from agentctl.engine.operations.derive import prepare
        from agentctl.errors import UsageError

        if boundary.failed_only == bool(boundary.roots):
            raise UsageError(
                "a retry begins either at everything that failed, or at named tasks",
                help="give --failed, or --from TASK",
            )
        return prepare("retry", source, loaded.plan, boundary, self.store)

    def _repair(self, loaded: Loaded, source: str, boundary: Boundary) -> Derivation:
        from agentctl.engine.operations.derive import prepare
        from agentctl.errors import UsageError

        if not boundary.roots:
            raise UsageError("a repair begins at named tasks", help="give --from TASK")
        # Inputs that the changed workflow does not take are told before anything is planned.
        loaded.inputs(self.store.load_run(source).run.inputs)
        return prepare("repair", source, loaded.plan, boundary, self.store)

    def _fork(self, source: str, roots: Sequence[str]) -> Derivation:
        from agentctl.engine.operations.derive import prepare
        from agentctl.engine.recovery.planning import Boundary

        boundary = Boundary(roots=tuple(roots), everything=not roots, fresh_effects=True)
        return prepare("fork", source, None, boundary, self.store)

    async def _derived(
        self, found: Derivation, loaded: Loaded | None, reason: str, timeout_seconds: float | None
    ) -> RunOutcome:
        from agentctl.engine.operations.derive import derive
        from agentctl.engine.operations.start import StartRequest

        run = found.source.run
        request = StartRequest(
            plan=found.target,
            inputs=run.inputs,
            vars=run.vars,
            workspace=run.workspace,
            folder=run.folder if loaded is None else loaded.folder,
            file=run.file if loaded is None else loaded.file_name,
            source=self.store.source_of(run.id) if loaded is None else loaded.text,
            timeout_seconds=timeout_seconds,
        )
        await require_reachable(found.target)
        ports = self._ports(found.target)
        secrets = self._secrets_of(found.target, run.workspace)
        why = secrets.redact_text(reason)
        return await self._run(derive(found, request, self.store, self._entropy, ports, why))


def _boundary(roots: Sequence[str], *, failed: bool = False, restarts: bool) -> Boundary:
    from agentctl.engine.recovery.planning import Boundary

    return Boundary(roots=tuple(roots), failed_only=failed, restart_successful=restarts)


async def require_reachable(plan: Plan) -> None:
    """Check every address that a plan needs before anything of a run is stored.

    Raises PolicyPreflight for one that the policy does not allow, and PrerequisiteError for a
    name that cannot be looked up.
    """
    from agentctl.engine.destinations import destinations_of

    urls = destinations_of(plan)
    if urls:
        from agentctl.effects import network  # late: few runs need it

        await network.require_reachable(urls, plan.definitions)
