"""The part of `Engine` by which people and probes decide what a run waits for.

Above: the door. Below: the operations. It drives no run: resuming one acts on what was decided.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from agentctl.blocking import blocking
from agentctl.discretion import Discreet

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from agentctl.clock import Clock
    from agentctl.engine.operations.probing import Mode, Probed
    from agentctl.engine.operations.reconcile import Finding
    from agentctl.engine.plan import Plan
    from agentctl.engine.ports import Executor
    from agentctl.engine.records import ApprovalRecord, ReconciliationRecord
    from agentctl.jsonvalue import JsonValue


class Deciding(Discreet):
    """Approvals, findings about uncertain effects, and probes."""

    _clock: Clock

    def _executors(self, wanted: Collection[str]) -> Mapping[str, Executor]:
        raise NotImplementedError

    def decide_approval(
        self, approval_id: str, *, approve: bool, actor: str, reason: str = ""
    ) -> ApprovalRecord:
        """Approve or reject a pending request; resuming the run acts on it.

        Raises UsageError for an unknown request, and StateError for one that was decided, whose
        time is over, or that is not about what is recorded now.
        """
        from agentctl.engine.operations.approve import decide, run_of

        secrets = self._secrets_of_run(run_of(approval_id, self.store))
        return decide(
            approval_id,
            self.store,
            self._clock.now(),
            approve=approve,
            actor=secrets.redact_text(actor),
            reason=secrets.redact_text(reason),
        )

    def reconcile(
        self,
        run_id: str,
        effect: str,
        *,
        status: Literal["applied", "not_applied", "compensated"],
        actor: str,
        reason: str,
        result: JsonValue = None,
        evidence: JsonValue = None,
        compensation_effect: str | None = None,
        approved: bool = False,
    ) -> ReconciliationRecord:
        """Record what became of an effect that may have happened; resuming acts on it.

        `effect` is its id or name; `approved` says that a person confirmed the consequence.
        Raises UsageError for an unknown effect or a result that does not fit, StateError for an
        effect that is not in doubt, or when the policy asks for a person and none confirmed,
        IllegalTransition for a finding that an earlier one does not allow.
        """
        from agentctl.engine.operations.reconcile import Finding
        from agentctl.errors import DecisionsRefused

        finding = Finding(
            status=status,
            actor=actor,
            reason=reason,
            result=result,
            evidence=evidence,
            compensation_effect=compensation_effect,
            approved=approved,
        )
        try:
            return self.reconcile_all(run_id, [(effect, finding)])[0]
        except DecisionsRefused as refused:
            raise refused.problems[0][1] from None

    def reconcile_all(
        self, run_id: str, findings: Sequence[tuple[str, Finding]]
    ) -> list[ReconciliationRecord]:
        """Record several findings, each with its effect, in one commit.

        Raises DecisionsRefused with every problem, and what `reconcile` raises about the run.
        """
        from agentctl.engine.operations.reconcile import reconcile_all

        clean = self.redacted(run_id, findings)
        return reconcile_all(run_id, clean, self.store, self._clock.now())

    def redacted(
        self, run_id: str, findings: Sequence[tuple[str, Finding]]
    ) -> list[tuple[str, Finding]]:
        """Return findings without any value of the run's secrets. Raises UnknownRun."""
        from agentctl.engine.operations.reconcile import redacted

        secrets = self._secrets_of_run(run_id)
        return [(effect, redacted(finding, secrets)) for effect, finding in findings]

    async def probe(
        self, run_id: str, effects: Sequence[str] | None = None, *, automatic: bool = False
    ) -> list[Probed]:
        """Ask the declared probes about effects in doubt; a valid answer settles its effect.

        Without `effects`, about all that have a probe; `automatic` leaves out those that wait
        for a person to ask. Raises UsageError for an unknown effect, and StateError for one
        that is not in doubt or has no probe.
        """
        from agentctl.engine.operations.probing import probe, probe_operations

        def executors(plan: Plan) -> Mapping[str, Executor]:
            return self._executors(probe_operations(plan))

        mode: Mode = "automatic" if automatic else "manual"
        return await probe(
            run_id,
            self.store,
            self._clock,
            executors,
            self._open_secrets,
            wanted=effects,
            mode=mode,
        )

    async def _settles_itself(self, run_id: str) -> bool:
        """Run the automatic probes of a run that waits; return whether one settled anything."""
        from agentctl.engine.operations.probing import has_automatic

        if not has_automatic(self.store.load_run(run_id)):
            return False
        return any(one.status for one in await self.probe(run_id, automatic=True))

    probe_sync = blocking(probe)
