"""Ask the outside world whether an effect happened, by the probe that its workflow declares.

Above: the embedded door. Below: executors and the ledger. A probe is harmless by declaration, so
it is no effect of the ledger: each dispatch is kept as evidence, with its request and its answer.
Only a typed and valid answer settles; anything else leaves the effect in doubt.
Source: specification, section 5.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final, Literal, cast

from attr import frozen

from agentctl.clock import iso
from agentctl.engine.apply import Work
from agentctl.engine.artifacts import Shelf
from agentctl.engine.credentials import dispatched_credentials
from agentctl.engine.finish import uncertain_effects
from agentctl.engine.kinds import PROCESS_KINDS
from agentctl.engine.ledger import error_json
from agentctl.engine.operations.reconcile import (
    Finding,
    find_effect,
    note_evidence,
    record_finding,
)
from agentctl.engine.operations.resume import lose_unconfirmed
from agentctl.engine.operations.tab import Tab
from agentctl.engine.plan import plan_from_json
from agentctl.engine.policy import Policy
from agentctl.engine.ports import EffectContext
from agentctl.engine.probes import Probe, answer_problems, probe_of
from agentctl.engine.records import EffectRecord
from agentctl.engine.secrecy import redact_error
from agentctl.engine.state import state_from_history
from agentctl.engine.undoing import follow_inverses
from agentctl.errors import (
    AgentctlError,
    EffectCertain,
    EffectError,
    LeaseLost,
    ProbeMissing,
    StoreError,
)
from agentctl.jsonvalue import canonical, digest, digest_text, exceeds
from agentctl.limits import PROBE_ANSWER_BYTES_MAX
from agentctl.machines.names import EffectStates, ReconciliationStates
from agentctl.value import Value

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from agentctl.clock import Clock
    from agentctl.engine.operations.reconcile import Status
    from agentctl.engine.plan import Plan
    from agentctl.engine.ports import Executor, Journal, OpenSecrets, SecretKeeper, Store
    from agentctl.engine.records import RunHistory
    from agentctl.engine.state import RunState
    from agentctl.jsonvalue import JsonObject, JsonValue

ASSIGN: Final = "builtin.assign"
Mode = Literal["manual", "automatic"]

_SETTLES: Final[Mapping[Status, str]] = {
    ReconciliationStates.applied: "the probe found that it happened",
    ReconciliationStates.not_applied: "the probe found that it did not happen",
}


@frozen(kw_only=True, eq=False, repr=False)
class Probed(Value):
    """What one probe gave: the status it settled the effect with, or None and why not."""

    effect_id: str
    effect_name: str
    action: str
    status: str | None
    reason: str
    answer: JsonValue = None

    def to_json(self) -> JsonObject:
        """Return the public JSON."""
        return {
            "effectId": self.effect_id,
            "effectName": self.effect_name,
            "probe": self.action,
            "status": self.status,
            "reason": self.reason,
            "answer": self.answer,
        }


def probe_operations(plan: Plan) -> set[str]:
    """Return every operation that the plan's probes may ask an executor for."""
    definitions = plan.definitions
    found = set()
    for section in ("actions", "tools"):
        declared = definitions[section]
        assert isinstance(declared, dict)
        for one in declared.values():
            probe = one.get("probe") if isinstance(one, dict) else None
            if isinstance(probe, dict):
                found.add(_kind(definitions, str(probe["uses"])))
    return found - {ASSIGN}


def has_automatic(history: RunHistory) -> bool:
    """Return whether an effect that nobody settled has a probe that a resume runs by itself."""
    plan = plan_from_json(history.plan)
    state = state_from_history(history, plan)
    lose_unconfirmed(state, Work(), 0)
    policy = Policy.from_definitions(plan.definitions)
    return any(
        _asks_itself(probe_of(state.effects_by_name[name], plan), policy)
        for name in uncertain_effects(state)
    )


async def probe(
    run_id: str,
    store: Store,
    clock: Clock,
    executors_for: Callable[[Plan], Mapping[str, Executor]],
    open_secrets: OpenSecrets,
    *,
    wanted: Collection[str] | None = None,
    mode: Mode = "manual",
) -> list[Probed]:
    """Probe the effects of a run that are in doubt; each answer is stored before the next probe.

    `wanted` names effects; without it, all that have a probe are asked about. In automatic mode
    only probes that are declared so and that the policy lets run without a person are.
    Raises UnknownRun, UnknownEffect, EffectCertain, ProbeMissing, and RunHeld while a live
    process owns the run.
    """
    journal = store.claim_run(run_id, clock.now())
    try:
        history = store.load_run(run_id)
        plan = plan_from_json(history.plan)
        state = state_from_history(history, plan)
        work = Work()
        lose_unconfirmed(state, work, clock.now())
        chosen = _chosen(state, wanted, mode)
        policy = cast("JsonObject", plan.definitions["policy"])
        secrets = open_secrets(policy, state.run.workspace)
        # What the world answers may hold what the run has let out before.
        await secrets.remember(one.reference for one in dispatched_credentials(state))
        tab = Tab.of(state, journal, clock)
        prober = _Prober(state, journal, clock, executors_for(plan), secrets, tab)
        if work:
            follow_inverses(state, work, clock.now())
            journal.commit(work)
        return [await prober.ask(effect, one) for effect, one in chosen]
    finally:
        journal.release()


def _chosen(
    state: RunState, wanted: Collection[str] | None, mode: Mode
) -> list[tuple[EffectRecord, Probe]]:
    policy = Policy.from_definitions(state.plan.definitions)
    doubtful = uncertain_effects(state)
    found = []
    if wanted is None:
        for name in doubtful:
            effect = state.effects_by_name[name]
            one = probe_of(effect, state.plan)
            if one is not None and (mode == "manual" or _asks_itself(one, policy)):
                found.append((effect, one))
        return found
    for name in wanted:
        effect = find_effect(state, name)
        if effect.name not in doubtful:
            message = f"effect {effect.name} is not in doubt"
            raise EffectCertain(message, run_id=state.run.id)
        one = probe_of(effect, state.plan)
        if one is None:
            raise ProbeMissing(
                f"no probe is declared for effect {effect.name}",
                help=f"look for yourself, then `agentctl reconcile {state.run.id}`",
                run_id=state.run.id,
            )
        found.append((effect, one))
    return found


def _asks_itself(found: Probe | None, policy: Policy) -> bool:
    """Return whether a probe may run without a person asking for it."""
    if found is None or found.mode != "automatic":
        return False
    facts = found.facts
    return not policy.needs_approval(facts.effect_class, facts.risk)


@frozen(eq=False, repr=False)
class _Prober(Value):
    """Asks, and keeps what comes back."""

    state: RunState
    journal: Journal
    clock: Clock
    executors: Mapping[str, Executor]
    secrets: SecretKeeper
    tab: Tab

    async def ask(self, effect: EffectRecord, one: Probe) -> Probed:
        """Run one probe and store its answer as evidence, and as a finding if it settles."""
        started = self.clock.now()
        asked: JsonValue = None
        answer: JsonValue = None
        problems: list[str] = []
        try:
            asked = one.input(effect, self.state)
            given = self.secrets.redact(await self._dispatch(effect, one, asked))
            answer = _bounded(one.answer(given))
            problems = answer_problems(answer, effect, self.state.plan)
        except (StoreError, LeaseLost):
            raise
        except AgentctlError as error:
            redact_error(self.secrets, error)
            problems = [str(error_json(error)["message"])]
        evidence: JsonObject = {
            "probe": one.action,
            "operation": one.facts.kind,
            "request": asked,
            "answer": answer,
            "problems": [*problems],
            "startedAt": iso(started),
            "endedAt": iso(self.clock.now()),
        }
        return self._keep(effect, one, answer, problems, evidence)

    def _keep(
        self,
        effect: EffectRecord,
        one: Probe,
        answer: JsonValue,
        problems: list[str],
        evidence: JsonObject,
    ) -> Probed:
        actor, now, work = f"probe:{one.action}", self.clock.now(), Work()
        said = answer if isinstance(answer, dict) and not problems else {}
        finding = _finding(said, actor, evidence)
        if finding is not None:
            spent = self.tab.spent(effect)
            record_finding(self.state, work, effect, finding, now, spent=spent)
            reason = finding.reason
        else:
            reason = "; ".join(problems) or "the probe does not know"
            note_evidence(
                self.state,
                work,
                effect,
                now,
                actor=actor,
                reason=reason,
                evidence=evidence,
                spent=self.tab.spent(effect),
            )
        follow_inverses(self.state, work, now)
        self.journal.commit(work)
        return Probed(
            effect_id=effect.id,
            effect_name=effect.name,
            action=one.action,
            status=None if finding is None else finding.status,
            reason=reason,
            answer=answer,
        )

    async def _dispatch(self, effect: EffectRecord, one: Probe, asked: JsonObject) -> JsonValue:
        """Return what the action returned. Raises AgentctlError for every failure."""
        facts = one.facts
        denied = Policy.from_definitions(self.state.plan.definitions).denial(
            facts.capability, (one.action,)
        )
        if denied is not None:
            raise EffectError(denied, code="policy_denied")
        if facts.kind == ASSIGN:
            return {"output": asked}
        hints: Mapping[str, object] = {"action": one.action}
        if facts.kind in PROCESS_KINDS:
            from agentctl.engine.programs.process import process_hints, process_input

            hints = process_hints(one.definition)
            asked = process_input(self.state.plan.definitions, one.definition, asked)
        asking = _as_effect(effect, one, asked)
        self.tab.reserve(effect, asking, one.action)
        shelf = Shelf(self.journal.artifacts, self.secrets)
        context = EffectContext(
            workspace=self.state.run.workspace,
            definitions=self.state.plan.definitions,
            hints=hints,
            emit=_discard,
            artifacts=shelf,
            secrets=self.secrets,
        )
        seconds = one.definition.get("timeoutSeconds")
        default = self.state.plan.tasks[effect.task_id].timeout_seconds
        limit = seconds if isinstance(seconds, int) else default
        try:
            async with asyncio.timeout(limit):
                returned = await self.executors[facts.kind].execute(asking, context)
                self.tab.settle(asking, returned)
                return returned
        except TimeoutError:
            message = f"the probe did not answer within {limit:g} s"
            raise EffectError(message, code="timeout") from None
        except AgentctlError:
            raise
        except Exception as error:
            message = f"{type(error).__name__}: {error}"
            raise EffectError(message, code="executor_error") from error
        finally:
            shelf.clear()


async def _discard(
    event_type: str, payload: JsonValue, provider_sequence: int | None = None
) -> None:
    """Drop the progress of a probe: only its answer is evidence."""
    del event_type, payload, provider_sequence


def _finding(said: JsonObject, actor: str, evidence: JsonObject) -> Finding | None:
    """Return what a valid answer settles. The workflow's author answers for its probe."""
    for status, reason in _SETTLES.items():
        if said.get("status") == status:
            return Finding(
                status=status,
                actor=actor,
                reason=reason,
                evidence=evidence,
                result=said.get("result"),
                approved=True,
            )
    return None


def _bounded(answer: JsonValue) -> JsonValue:
    if exceeds(answer, PROBE_ANSWER_BYTES_MAX) or len(canonical(answer)) > PROBE_ANSWER_BYTES_MAX:
        message = f"the answer has more than PROBE_ANSWER_BYTES_MAX = {PROBE_ANSWER_BYTES_MAX:,}"
        raise EffectError(f"{message} bytes", code="output_too_large")
    return answer


def _as_effect(effect: EffectRecord, one: Probe, asked: JsonObject) -> EffectRecord:
    """Return the dispatch as executors know it; it is never stored on the ledger."""
    facts = one.facts
    input_digest = digest(asked)
    return EffectRecord(
        id=digest_text(f"probe\n{effect.id}\n{one.action}\n{input_digest}"),
        name=f"{effect.name}?{one.action}",
        task_id=effect.task_id,
        number=effect.number,
        position=effect.position,
        attempt=effect.attempt,
        ordinal=effect.ordinal,
        operation=facts.kind,
        effect_class=facts.effect_class,
        risk=facts.risk,
        idempotency=one.idempotency,
        input=asked,
        input_digest=input_digest,
        key_digest=effect.key_digest,
        state=EffectStates.started,
        dispatch=1,
        requested_at=effect.requested_at,
        started_at=effect.requested_at,
    )


def _kind(definitions: JsonObject, uses: str) -> str:
    actions = definitions["actions"]
    assert isinstance(actions, dict)
    action = actions[uses.removeprefix("action:")]
    assert isinstance(action, dict)
    return str(action["kind"])
