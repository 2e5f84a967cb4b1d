"""One call, from an allowed input to its kept answer.

Above: the executor and the commands. Below: handlers and the entity port. A call that changes
something is one transaction under its key, with its answer; so are its refusals, so that a
repetition after a crash answers what was answered first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agentctl.catalog.descriptor import READING
from agentctl.catalog.tools import BY_ID
from agentctl.control.desk import Call, Desk, Refused
from agentctl.control.handlers import HANDLERS
from agentctl.control.handlers.documents import revision_id
from agentctl.engine.entities import OperationKey, Performed
from agentctl.errors import KeyReused
from agentctl.jsonvalue import digest

if TYPE_CHECKING:
    from agentctl.clock import Instant
    from agentctl.engine.entities import EntityMove, EntityStore, EntityView
    from agentctl.jsonvalue import JsonObject, JsonValue

SCHEMA: Final = "paperclip.capability.tool-result.v1"


def perform(entities: EntityStore, call: Call, now: Instant) -> JsonObject:
    """Carry a call out, or answer what it was answered before, or say why it is refused."""

    def act(view: EntityView) -> Performed:
        return _carry_out(Desk(view, call, now))

    if reads(call.operation):
        return entities.look(act).result
    request = digest({"operation": call.operation, "input": call.given, "actor": call.actor})
    key = OperationKey(
        key=call.key, run_id=call.run_id, operation=call.operation, request_digest=request
    )
    try:
        return entities.perform(key, act, now)
    except KeyReused:
        return refusal(call, Refused("idempotency_key_conflict", code="input_invalid"))


def reads(operation: str) -> bool:
    """Return whether an operation changes nothing; what people do is no tool, and changes."""
    tool = BY_ID.get(operation)
    return tool is not None and tool.side_effect_class in READING


def _carry_out(desk: Desk) -> Performed:
    call = desk.call
    handler = HANDLERS.get(call.operation)
    if handler is None:
        return Performed(refusal(call, Refused("not_here", code="operation_unsupported")))
    try:
        value = handler(desk, call.given)
    except Refused as refused:
        return Performed(refusal(call, refused))
    moves = () if reads(call.operation) else tuple(desk.moves)
    return Performed(answer(call, value, moves), moves)


def answer(call: Call, value: JsonValue, moves: tuple[EntityMove, ...]) -> JsonObject:
    """Return the envelope of an answer; what changed is named in it."""
    change = _change(moves)
    return {
        "schema": SCHEMA,
        "ok": True,
        "operationId": call.operation,
        "operationResultId": call.key,
        "value": value,
        "commandResult": None if change is None else {"status": "applied", **change},
        "authorization": {
            **call.authorization,
            "sequence": call.sequence,
            "resultingStateChange": change,
        },
    }


def refusal(call: Call, refused: Refused) -> JsonObject:
    """Return what a call that cannot be carried out is answered."""
    return {
        "ok": False,
        "error": {
            "code": refused.code,
            "operationId": call.operation,
            "reason": refused.reason,
            **({"detail": refused.detail} if refused.detail else {}),
        },
        "authorization": {
            **call.authorization,
            "sequence": call.sequence,
            "resultingStateChange": None,
        },
    }


def _change(moves: tuple[EntityMove, ...]) -> JsonObject | None:
    """Return the revisions around a call, of the last thing it moved, and all that it touched."""
    if not moves:
        return None
    last = moves[-1].entity
    touched = {f"{one.entity.kind}:{one.entity.id}" for one in moves}
    touched |= {
        f"revision:{revision_id(one.entity)}" for one in moves if one.entity.kind == "document"
    }
    return {
        "beforeRevision": last.revision - 1 or None,
        "afterRevision": last.revision,
        "entityRefs": [*sorted(touched)],
    }
