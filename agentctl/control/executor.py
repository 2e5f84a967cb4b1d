"""`CatalogExecutor`: the operations of the catalog as effects of a run.

Above: the runner. Below: `performing`. The key of an effect is the key of its call, so that
recovery may dispatch it again: what happened is answered, and nothing happens twice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from agentctl.catalog.tools import BY_ID
from agentctl.control.desk import Call, Refused, text_of
from agentctl.control.performing import answer, perform, refusal

if TYPE_CHECKING:
    from agentctl.clock import Clock
    from agentctl.engine.entities import EntityStore
    from agentctl.engine.ports import EffectContext
    from agentctl.engine.records import EffectRecord
    from agentctl.jsonvalue import JsonObject, JsonValue

PREFIX: Final = "catalog."
READ_SECRET: Final = "read_secret_value"  # noqa: S105 - a name of a tool
# A refusal is on record as soon as it is on the ledger.
REFUSE: Final = "catalog.refuse"


class CatalogExecutor:
    """Carries out every operation of the catalog on one database."""

    def __init__(self, entities: EntityStore, clock: Clock) -> None:
        self._entities = entities
        self._clock = clock

    async def execute(self, effect: EffectRecord, context: EffectContext) -> JsonValue:
        """Return the answer to the call, allowed as it was before it became an effect."""
        if effect.operation == REFUSE:
            return effect.input
        hints = context.hints
        call = Call(
            operation=effect.operation.removeprefix(PREFIX),
            given=cast("JsonObject", effect.input),
            key=effect.idempotency_key,
            run_id=cast("str", hints["runId"]),
            task_id=cast("str", hints["taskId"]),
            actor=cast("str", hints["actor"]),
            role=cast("str", hints["role"]),
            mode=cast("str", hints["mode"]),
            sequence=effect.number,
            brief=cast("JsonValue", hints["brief"]),
            agents=_agents(context.definitions),
            secrets=tuple(_secrets(context.definitions)),
            authorization=cast("JsonObject", hints["authorization"]),
        )
        if call.operation == READ_SECRET:
            return await _read_secret(call, context)
        return perform(self._entities, call, self._clock.now())


async def _read_secret(call: Call, context: EffectContext) -> JsonObject:
    """Prove that a value is there; the model is given it when it is asked next.

    Raises SecretMissing, and EffectError for a place that the policy does not list.
    """
    name = text_of(call.given, "name")
    reference = _secrets(context.definitions).get(name)
    if reference is None:
        return refusal(call, Refused("unknown_secret", name=name))
    await context.secrets.resolve(reference)
    (redaction,) = BY_ID[call.operation].redaction
    return answer(call, {"name": name, "value": redaction.replacement}, ())


def _secrets(definitions: JsonObject) -> dict[str, JsonObject]:
    """Return the secrets that a plan lets agents read, by name."""
    catalog = cast("JsonObject", definitions["policy"]).get("catalog") or {}
    return cast("dict[str, JsonObject]", cast("JsonObject", catalog).get("secrets") or {})


def _agents(definitions: JsonObject) -> tuple[JsonObject, ...]:
    """Return the agents of a plan as the catalog lists them."""
    agents = cast("dict[str, JsonObject]", definitions["agents"])
    return tuple(
        {
            "actorId": f"agent:{name}",
            "name": name,
            "role": cast("JsonObject", one.get("catalog") or {}).get("role"),
            "description": one.get("description"),
        }
        for name, one in agents.items()
    )
