"""What probes take of a run's budgets: held durably before a dispatch, settled with its answer.

Above: probing. Below: the budget. A probe is no effect of the ledger, so what it takes is kept
with the evidence about the effect that it asks for. Source: specification, section 11.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from attr import define

from agentctl.engine.apply import Work
from agentctl.engine.budget import budget_of, spent_on
from agentctl.engine.operations.reconcile import note_evidence
from agentctl.errors import EffectError
from agentctl.jsonvalue import canonical

if TYPE_CHECKING:
    from agentctl.clock import Clock
    from agentctl.engine.budget import Budget
    from agentctl.engine.ports import Journal
    from agentctl.engine.records import EffectRecord
    from agentctl.engine.state import RunState
    from agentctl.jsonvalue import JsonObject, JsonValue


@define(eq=False, repr=False)
class Tab:
    """The budget of a run as its probes draw on it."""

    state: RunState
    journal: Journal
    clock: Clock
    budget: Budget | None
    unused: Counter[str]

    @classmethod
    def of(cls, state: RunState, journal: Journal, clock: Clock) -> Tab:
        """Return the tab of a run; without a budget nothing is counted."""
        findings = state.reconciliations.values()
        budget = budget_of(state.plan, state.run, state.effects.values(), findings)
        return cls(state, journal, clock, budget, Counter())

    def reserve(self, effect: EffectRecord, asking: EffectRecord, action: str) -> None:
        """Store the most that a probe can take, before it is dispatched.

        Raises EffectError (`budget_exceeded`) when less than that is left.
        """
        self.unused = Counter()
        if self.budget is None:
            return
        # One that gave no answer may have used all that it held.
        self.budget.used += self.budget.held.pop(asking.id, Counter())
        denial = self.budget.reserve_probe(asking)
        if denial is not None:
            raise EffectError(denial.sentence(), code="budget_exceeded")
        most = self.budget.held[asking.id]
        if not most:
            return
        before = self.state.reconciliations.get(effect.name)
        spent = most + (spent_on(before) if before else Counter())
        evidence: JsonObject = {"probe": action, "request": asking.input, "reserved": {**most}}
        work = Work()
        note_evidence(
            self.state,
            work,
            effect,
            self.clock.now(),
            actor=f"probe:{action}",
            reason="the probe is asked",
            evidence=evidence,
            spent={**spent},
        )
        self.journal.commit(work)

    def settle(self, asking: EffectRecord, returned: JsonValue) -> None:
        """Give back what a probe held and did not use; one that gave nothing keeps all of it."""
        if self.budget is None:
            return
        most = self.budget.held.pop(asking.id)
        used = Counter({name: min(len(canonical(returned)), most[name]) for name in most})
        self.budget.used += used
        self.unused = most - used

    def spent(self, effect: EffectRecord) -> JsonObject | None:
        """Return all that probes took about an effect, or None when none took anything."""
        record = self.state.reconciliations.get(effect.name)
        if record is None or record.spent is None:
            return None
        rest = spent_on(record) - self.unused
        self.unused = Counter()
        return {**rest}
