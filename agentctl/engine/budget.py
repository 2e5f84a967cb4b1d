"""The run's budgets: what an effect may use at most, what it used, and what is left.

Above: flights, which reserve before a dispatch, the scheduler, which settles after it, and the
view. Below: records. Nothing here is stored: the ledger holds every effect's request and result,
so the meter folds it, and a resumed run counts what its earlier processes used.
Source: specification, sections 1.2 and 11.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final, cast

from attr import define, evolve, field, frozen

from agentctl.engine.estimate import TokenEstimate
from agentctl.engine.kinds import PROCESS_KINDS
from agentctl.engine.pricing import Prices
from agentctl.jsonvalue import canonical
from agentctl.limits import PROCESS_COMBINED_BYTES
from agentctl.machines.names import EffectStates
from agentctl.value import Value

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from agentctl.clock import Instant
    from agentctl.engine.plan import Plan
    from agentctl.engine.records import EffectRecord, ReconciliationRecord, RunRecord
    from agentctl.jsonvalue import JsonObject, JsonValue

COUNTED_BY_COMPILER: Final = frozenset({"maxTasks", "maxExpansionItems", "maxLoopIterations"})
WALL_TIME: Final = "maxWallTimeSeconds"
RAISABLE: Final = (
    "maxProviderRequests",
    "maxTurns",
    "maxToolCalls",
    "maxInputTokens",
    "maxOutputTokens",
    "maxTotalTokens",
    WALL_TIME,
    "maxProcessOutputBytes",
    "maxArtifactBytes",
    "maxCostMicrousd",
)
"""The limits that a run can reach, by their names in a document."""


def dimension_of(limit: str) -> str:
    """Return what a limit counts: `providerRequests` for `maxProviderRequests`."""
    return limit[3].lower() + limit[4:]


@frozen(kw_only=True, eq=False, repr=False)
class Denial(Value):
    """Why an effect may not start: the whole amount that it would have come to.

    `also` are the other limits that it would have passed.
    """

    dimension: str
    limit: int
    attempted: int
    also: tuple[Denial, ...] = ()

    def to_json(self) -> JsonObject:
        """Return the stored form, an error with its numbers."""
        return {
            "code": "budget_exceeded",
            "message": "; ".join(one.sentence() for one in (self, *self.also)),
            "dimension": self.dimension,
            "limit": self.limit,
            "attempted": self.attempted,
        }

    def sentence(self) -> str:
        """Return the denial in words."""
        return (
            f"the budget of {self.dimension} is {self.limit:,}, "
            f"the next step comes to {self.attempted:,}"
        )


@frozen(eq=False, repr=False)
class Meter(Value):
    """What one effect may use, and what it did use, by dimension."""

    agent_tasks: frozenset[str]
    prices: Prices
    estimate: TokenEstimate

    @classmethod
    def of(cls, plan: Plan) -> Meter:
        """Return the meter of a plan."""
        agents = (task.id for task in plan.tasks.values() if task.uses_kind == "agent")
        definitions = plan.definitions
        return cls(frozenset(agents), Prices.of(definitions), TokenEstimate.of(definitions))

    def reservation(self, effect: EffectRecord) -> Counter[str]:
        """Return the most that an effect can use."""
        if effect.effect_class == "model":
            return self._model_reservation(effect)
        most: Counter[str] = Counter()
        if effect.task_id in self.agent_tasks:
            most["toolCalls"] = 1
        most += self.program(effect)
        body = effect.input if isinstance(effect.input, dict) else {}
        content = body.get("content")
        if effect.effect_class == "workspace_mutate" and isinstance(content, str):
            most["artifactBytes"] = len(content.encode("utf-8", "surrogatepass"))
        return most

    def program(self, effect: EffectRecord) -> Counter[str]:
        """Return the most that an effect's program can print; a probe uses nothing else."""
        if effect.operation not in PROCESS_KINDS:
            return Counter()
        runs = 2 if effect.operation == "extension.process" else 1
        body = effect.input if isinstance(effect.input, dict) else {}
        return Counter(processOutputBytes=runs * _output_limit(body))

    def consumption(self, effect: EffectRecord) -> Counter[str]:
        """Return what an effect used; one that is open or in doubt counts at its most."""
        if not effect.dispatch:
            return Counter()
        most = self.reservation(effect)
        if effect.state not in _SETTLED:
            return most
        if effect.state != EffectStates.succeeded:
            calls = Counter({name: most[name] for name in _COUNTED_CALLS if most[name]})
            return calls + self._printed(effect, effect.error)
        if effect.effect_class == "model":
            return self._model_consumption(effect)
        del most["processOutputBytes"]
        return most + self._printed(effect, effect.result)

    def _printed(self, effect: EffectRecord, kept: JsonValue) -> Counter[str]:
        """Return what a program printed; whether it failed or not, the ledger keeps that."""
        most = self.program(effect)
        return Counter({name: min(most[name], len(canonical(kept))) for name in most})

    def _model_reservation(self, effect: EffectRecord) -> Counter[str]:
        body = cast("JsonObject", effect.input)
        given = self.estimate.tokens(body)
        made = cast("int", body.get("maxOutputTokens") or 0)
        cost = self.prices.most(body, given, made)
        return _model(given, made, cost)

    def _model_consumption(self, effect: EffectRecord) -> Counter[str]:
        body = cast("JsonObject", effect.input)
        usage = usage_of(effect)
        given, made = _count(usage, "inputTokens"), _count(usage, "outputTokens")
        if not given:
            # No request is without input: the provider did not count, so nobody knows.
            return self._model_reservation(effect)
        return _model(given, made, self.prices.of_usage(body, usage))


_COUNTED_CALLS: Final = ("providerRequests", "turns", "toolCalls")
_SETTLED: Final = frozenset({EffectStates.succeeded, EffectStates.failed, EffectStates.cancelled})


@define(eq=False, repr=False)
class Budget:
    """The limits of one run against what its ledger has used and holds reserved."""

    limits: Mapping[str, int]
    meter: Meter
    created_at: Instant
    used: Counter[str] = field(factory=Counter)
    held: dict[str, Counter[str]] = field(factory=dict)

    def reserve(self, effect: EffectRecord, now: Instant) -> Denial | None:
        """Hold the most that an effect can use, or say which limits stand against it."""
        most = self.meter.reservation(effect)
        seconds = max(now - self.created_at, 0) // 1_000_000
        return self._hold(effect, most, Counter(wallTimeSeconds=seconds))

    def reserve_probe(self, asking: EffectRecord) -> Denial | None:
        """Hold what a probe can use. The time that a run takes does not stand against knowing."""
        return self._hold(asking, self.meter.program(asking), Counter())

    def _hold(self, effect: EffectRecord, most: Counter[str], more: Counter[str]) -> Denial | None:
        total = self.used + most + more
        self.held.pop(effect.id, None)
        for one in self.held.values():
            total += one
        passed = [
            Denial(dimension=dimension_of(name), limit=limit, attempted=total[dimension_of(name)])
            for name, limit in self.limits.items()
            if total[dimension_of(name)] > limit
        ]
        if passed:
            return evolve(passed[0], also=tuple(passed[1:]))
        self.held[effect.id] = most
        return None

    def settle(self, effect: EffectRecord) -> None:
        """Replace what was held for an effect by what it used."""
        self.held.pop(effect.id, None)
        self.used += self.meter.consumption(effect)

    def seconds_left(self, now: Instant) -> float | None:
        """Return how long the run may still take, or None without a limit."""
        limit = self.limits.get(WALL_TIME)
        return None if limit is None else limit - max(now - self.created_at, 0) / 1_000_000

    def out_of_time(self, now: Instant) -> Denial:
        """Return the denial of a run that took all its time."""
        limit = self.limits[WALL_TIME]
        spent = max(now - self.created_at, 0) // 1_000_000
        return Denial(
            dimension=dimension_of(WALL_TIME), limit=limit, attempted=max(spent, limit + 1)
        )


def limits_of(definitions: JsonObject, run: RunRecord) -> dict[str, int]:
    """Return the limits that a run can reach, with those that were raised."""
    planned = cast("JsonObject", definitions.get("budgets") or {})
    declared = {**planned, **(run.raised_budgets or {})}
    return {name: cast("int", declared[name]) for name in RAISABLE if declared.get(name)}


def budget_of(
    plan: Plan,
    run: RunRecord,
    effects: Iterable[EffectRecord],
    findings: Iterable[ReconciliationRecord],
) -> Budget | None:
    """Return the budget of a run as its ledger stands, or None when nothing limits it."""
    limits = limits_of(plan.definitions, run)
    if not limits:
        return None
    budget = Budget(limits, Meter.of(plan), run.created_at)
    for effect in effects:
        if effect.state in _SETTLED:
            budget.settle(effect)
        elif effect.dispatch:
            budget.held[effect.id] = budget.meter.reservation(effect)
    for finding in findings:
        budget.used += spent_on(finding)
    return budget


def spent_on(finding: ReconciliationRecord) -> Counter[str]:
    """Return what the probes about one effect took."""
    return Counter(cast("dict[str, int]", finding.spent or {}))


def is_settled(effect: EffectRecord) -> bool:
    """Return whether what an effect used is known for good."""
    return effect.state in _SETTLED


def usage_of(effect: EffectRecord) -> JsonObject:
    """Return what a provider said that a request used."""
    result = effect.result if isinstance(effect.result, dict) else {}
    usage = result.get("usage")
    return usage if isinstance(usage, dict) else {}


def _model(given: int, made: int, cost: int) -> Counter[str]:
    return Counter(
        providerRequests=1,
        turns=1,
        inputTokens=given,
        outputTokens=made,
        totalTokens=given + made,
        costMicrousd=cost,
    )


def _count(usage: JsonObject, name: str) -> int:
    value = usage.get(name)
    return value if isinstance(value, int) else 0


def _output_limit(body: Mapping[str, JsonValue]) -> int:
    limits = body.get("limits")
    found = limits.get("combinedOutputLimitBytes") if isinstance(limits, dict) else None
    return found if isinstance(found, int) else PROCESS_COMBINED_BYTES
