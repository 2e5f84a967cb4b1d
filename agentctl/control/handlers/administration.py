"""Administration: registering what the company shares, ending things, and taking it all out.

Above: the table of handlers. Below: the desk. The acts are a closed list; one that is not known
is refused with the list.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, get_args

from attr import frozen

from agentctl.control.desk import Refused, text_of
from agentctl.engine.entities import EntityKind
from agentctl.value import Value

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentctl.control.desk import Desk
    from agentctl.control.handlers import Handler
    from agentctl.engine.entities import Entity, EntityEvent
    from agentctl.jsonvalue import JsonObject, JsonValue

# An export holds no export, and of secrets nothing but what their list shows.
_LEFT_OUT: Final = frozenset({"export", "secret"})


@frozen(kw_only=True, eq=False, repr=False)
class Act(Value):
    """One act: a kind, what names an entity in the payload, and the move that it makes.

    An act without an event registers what its payload says, or replaces it.
    """

    kind: EntityKind
    named_by: str
    needs: tuple[str, ...] = ()
    event: EntityEvent | None = None


ACTS: Final[Mapping[str, Act]] = {
    "register_agent": Act(kind="agent", named_by="actorId", needs=("role",)),
    "register_project": Act(kind="project", named_by="name"),
    "register_goal": Act(kind="goal", named_by="name"),
    "register_skill": Act(kind="skill", named_by="name", needs=("source",)),
    "register_secret": Act(kind="secret", named_by="name", needs=("purpose",)),
    "register_routine": Act(kind="routine", named_by="name", needs=("description", "schedule")),
    "pause_routine": Act(kind="routine", named_by="name", event="pause"),
    "resume_routine": Act(kind="routine", named_by="name", event="resume"),
    "retire_routine": Act(kind="routine", named_by="name", event="retire"),
    "close_case": Act(kind="case", named_by="key", event="close"),
    "cancel_task": Act(kind="assignment", named_by="taskId", event="cancel"),
    "archive_document": Act(kind="document", named_by="documentId", event="archive"),
    "remove_service": Act(kind="service", named_by="serviceId", event="remove"),
    "withdraw_agent": Act(kind="agent", named_by="actorId", event="withdraw"),
    "withdraw_project": Act(kind="project", named_by="name", event="withdraw"),
    "withdraw_goal": Act(kind="goal", named_by="name", event="withdraw"),
    "withdraw_skill": Act(kind="skill", named_by="name", event="withdraw"),
    "withdraw_secret": Act(kind="secret", named_by="name", event="withdraw"),
}


def administer_company(desk: Desk, given: JsonObject) -> JsonValue:
    """Carry out one act."""
    name = text_of(given, "action")
    act = ACTS.get(name)
    if act is None:
        raise Refused("unknown_action", code="input_invalid", known=[*ACTS])
    payload = _payload(given, act)
    id = text_of(payload, act.named_by)
    if act.event is not None:
        after = desk.move(desk.require(act.kind, id), act.event)
        _end(desk, after)
        return _data(after)
    found = desk.entity(act.kind, id)
    if found is None:
        return _data(desk.create(act.kind, payload, id=id))
    return _data(desk.move(found, "revise", payload))


def export_company(desk: Desk, given: JsonObject) -> JsonValue:
    """Take out everything that may leave the company, and keep it as one export."""
    del given
    kinds = [kind for kind in get_args(EntityKind) if kind not in _LEFT_OUT]
    found = {kind: [_data(one) for one in desk.view.entities(kind)] for kind in kinds}
    entities: JsonObject = {kind: [*listed] for kind, listed in found.items() if listed}
    made = desk.create("export", {"entities": entities, "madeBy": desk.call.actor})
    counts: JsonObject = {kind: len(found[kind]) for kind in entities}
    return {"exportId": made.id, "counts": counts, "entities": entities}


def _payload(given: JsonObject, act: Act) -> JsonObject:
    """Return the payload of an act. Raises Refused with every text that it must have."""
    payload = given.get("payload")
    needed = (act.named_by, *act.needs)
    texts = payload if isinstance(payload, dict) else {}
    missing = [one for one in needed if not isinstance(texts.get(one), str) or not texts[one]]
    if missing:
        raise Refused("payload_invalid", code="input_invalid", needs=[*missing])
    return texts


def _end(desk: Desk, entity: Entity) -> None:
    """Withdraw what a person was asked for a task that is over."""
    if entity.kind != "assignment":
        return
    kinds: tuple[EntityKind, ...] = ("request", "review")
    for kind in kinds:
        for one in desk.view.entities(kind, entity.id):
            if not one.is_final:
                desk.move(one, "withdraw")


def _data(one: Entity) -> JsonObject:
    return {
        "kind": one.kind,
        "id": one.id,
        "state": one.state,
        "revision": one.revision,
        "body": one.body,
    }


HANDLERS: Final[Mapping[str, Handler]] = {
    "administer_company": administer_company,
    "export_company": export_company,
}
