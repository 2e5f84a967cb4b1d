"""Approvals that agents request of one another; nobody decides about a request of their own.

Above: the table of handlers. Below: the desk. These are the company's own approvals. What a run's
policy asks a person is the engine's, and no tool decides it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from agentctl.clock import iso
from agentctl.control.desk import Refused, text_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Literal

    from agentctl.control.desk import Desk
    from agentctl.control.handlers import Handler
    from agentctl.engine.entities import Entity
    from agentctl.jsonvalue import JsonObject, JsonValue
    from agentctl.machines.names import ApprovalEvent

    Decided = Literal["approved", "rejected", "cancelled"]

_EVENTS: Final[Mapping[Decided, ApprovalEvent]] = {
    "approved": "approve",
    "rejected": "reject",
    "cancelled": "void",
}


def list_approvals(desk: Desk, given: JsonObject) -> JsonValue:
    """Return the approvals with what was decided and said about each."""
    del given
    comments: dict[str, list[JsonValue]] = {}
    for one in desk.view.entities("note"):
        about = one.body.get("approvalId")
        if isinstance(about, str):
            said = {"by": one.body["by"], "body": one.body["body"], "at": iso(one.created_at)}
            comments.setdefault(about, []).append(cast("JsonValue", said))
    return [
        {**_data(one), "comments": comments.get(one.id, [])}
        for one in desk.view.entities("approval")
    ]


def request_approval(desk: Desk, given: JsonObject) -> JsonValue:
    """Ask for an approval."""
    body = {**given, "requestedBy": desk.call.actor}
    return _data(desk.create("approval", body, owner=desk.assignment().id))


def decide_approval(desk: Desk, given: JsonObject) -> JsonValue:
    """Decide what somebody else has requested."""
    found = desk.require("approval", text_of(given, "approvalId"))
    if found.body["requestedBy"] == desk.call.actor:
        raise Refused("self_approval_conflict", code="policy_denied")
    decision = cast("Decided", given["decision"])
    body = {**found.body, "decidedBy": desk.call.actor, "note": given["note"]}
    return _data(desk.move(found, _EVENTS[decision], body))


def comment_on_approval(desk: Desk, given: JsonObject) -> JsonValue:
    """Add a comment; it decides nothing."""
    found = desk.require("approval", text_of(given, "approvalId"))
    body: JsonObject = {
        "about": "approval",
        "approvalId": found.id,
        "by": desk.call.actor,
        "body": given["body"],
    }
    note = desk.create("note", body, owner=found.owner)
    return {"noteId": note.id, "approvalId": found.id, "state": found.state}


def _data(one: Entity) -> JsonObject:
    return {"approvalId": one.id, "state": one.state, "taskId": one.owner, **one.body}


HANDLERS: Final[Mapping[str, Handler]] = {
    "list_approvals": list_approvals,
    "request_approval": request_approval,
    "decide_approval": decide_approval,
    "comment_on_approval": comment_on_approval,
}
