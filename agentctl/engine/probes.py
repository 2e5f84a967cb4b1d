"""The probe that a workflow declares for an effect: what it asks, and what its answer means.

Above: reconciliation by probe. Below: the plan's definitions and templates. Pure.
An answer settles an effect only if it is exactly `{status, result?, evidence?}` with the status
applied or not_applied, and an applied one's result fits the effect's own contract.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, cast

from attr import frozen

from agentctl.engine.contracts import action_of, contract_of, tools_of
from agentctl.engine.kinds import kind_of
from agentctl.engine.scope import task_scope
from agentctl.engine.template import render
from agentctl.machines.names import ReconciliationStates
from agentctl.value import Value

if TYPE_CHECKING:
    from agentctl.engine.kinds import KindFacts
    from agentctl.engine.plan import Plan
    from agentctl.engine.records import EffectRecord, Idempotency
    from agentctl.engine.state import RunState
    from agentctl.jsonvalue import JsonObject, JsonValue

Mode = Literal["manual", "automatic"]

UNKNOWN: Final = "unknown"
SETTLING: Final = (ReconciliationStates.applied, ReconciliationStates.not_applied)

_ANSWER: Final[JsonObject] = {
    "type": "object",
    "required": ["status"],
    "additionalProperties": False,
    "properties": {
        "status": {"enum": [*SETTLING, UNKNOWN]},
        "result": True,
        "evidence": True,
    },
}
# These answer with a record (specification, section 6), whose `output` is the answer.
_RECORDED: Final = "builtin."


@frozen(kw_only=True, eq=False, repr=False)
class Probe(Value):
    """A harmless action that can say whether an effect happened."""

    action: str
    definition: JsonObject
    given: JsonObject
    mode: Mode

    @property
    def facts(self) -> KindFacts:
        """The facts of the action's kind."""
        return kind_of(cast("str", self.definition["kind"]))

    @property
    def idempotency(self) -> Idempotency:
        """What the action declares, else what its kind is."""
        declared = cast("Idempotency | None", self.definition.get("idempotency"))
        return declared or self.facts.idempotency

    def input(self, effect: EffectRecord, state: RunState) -> JsonObject:
        """Render what is asked. Raises TemplateError."""
        scope = task_scope(state, state.plan.tasks[effect.task_id])
        scope.roots["effect"] = {
            "id": effect.id,
            "idempotencyKey": effect.idempotency_key,
            "input": effect.input,
        }
        return cast("JsonObject", render(self.given, scope))

    def answer(self, returned: JsonValue) -> JsonValue:
        """Return the answer inside what the action returned."""
        if not self.facts.kind.startswith(_RECORDED):
            return returned
        return returned.get("output") if isinstance(returned, dict) else None


def probe_of(effect: EffectRecord, plan: Plan) -> Probe | None:
    """Return the probe that is declared for an effect's action or tool, if one is."""
    found = [action_of(effect, plan), *tools_of(effect, plan).values()]
    declared = [one["probe"] for one in found if one.get("probe")]
    # Several tools that are alike leave open which one was called.
    if len(declared) != 1:
        return None
    probe = cast("JsonObject", declared[0])
    actions = cast("dict[str, JsonObject]", plan.definitions["actions"])
    name = cast("str", probe["uses"]).removeprefix("action:")
    definition = actions[name]
    defaults = cast("JsonObject", definition.get("with") or {})
    return Probe(
        action=name,
        definition=definition,
        given={**defaults, **cast("JsonObject", probe["with"])},
        mode=cast("Mode", probe["mode"]),
    )


def answer_problems(answer: JsonValue, effect: EffectRecord, plan: Plan) -> list[str]:
    """Return everything that keeps an answer from being understood."""
    from agentctl.engine.schema_check import validate

    problems = validate(answer, _ANSWER, "answer")
    if problems or not isinstance(answer, dict):
        return problems
    if answer["status"] != ReconciliationStates.applied:
        return ["answer.result: only an applied effect has one"] if "result" in answer else []
    contract = contract_of(effect, plan)
    found = contract.problems(answer.get("result"))
    return [f"answer.result is not {contract.source}: {one}" for one in found]
