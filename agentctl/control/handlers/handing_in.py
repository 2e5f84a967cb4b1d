"""What the caller's task hands to people: deliverables, and questions to them.

Above: the table of handlers. Below: the desk.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agentctl.control.desk import Refused, text_of
from agentctl.control.handlers.documents import document_id

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentctl.control.desk import Desk
    from agentctl.control.handlers import Handler
    from agentctl.jsonvalue import JsonObject, JsonValue

_SHA256_DIGITS: Final = frozenset("0123456789abcdef")


def register_deliverable(desk: Desk, given: JsonObject) -> JsonValue:
    """Put a file on record as a result of the task."""
    sha256 = text_of(given, "sha256")
    if len(sha256) != 64 or not _SHA256_DIGITS.issuperset(sha256):
        raise Refused("not_a_sha256", code="input_invalid", sha256=sha256)
    task = desk.assignment()
    made = desk.create("deliverable", given, owner=task.id)
    return {"deliverableId": made.id, "taskId": task.id, "filename": given["filename"]}


def request_human_input(desk: Desk, given: JsonObject) -> JsonValue:
    """Ask a person; the task is in review until the answer."""
    target = given.get("targetRevisionId")
    if isinstance(target, str):
        _require_revision(desk, target)
    task = desk.assignment()
    after = desk.move(task, "ask")
    asked = desk.create("request", {**given, "requestedBy": desk.call.actor}, owner=task.id)
    return {"requestId": asked.id, "state": asked.state, "taskId": task.id, "task": after.state}


def _require_revision(desk: Desk, named: str) -> None:
    """Refuse a question about a revision that is not there, or that is not the newest any more."""
    key, _, number = named.rpartition("@")
    found = desk.entity("document", document_id(desk.call.task_id, key))
    if found is None or not number.isdecimal() or int(number) > found.revision:
        raise Refused("unknown_revision", id=named)
    if int(number) != found.revision:
        raise Refused("revision_conflict", currentRevisionId=f"{key}@{found.revision}")


HANDLERS: Final[Mapping[str, Handler]] = {
    "register_deliverable": register_deliverable,
    "request_human_input": request_human_input,
}
