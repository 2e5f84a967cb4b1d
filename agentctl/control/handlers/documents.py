"""The documents of the caller's task: every write is a new revision based on the newest one.

Above: the table of handlers. Below: the desk. A revision is named `KEY@NUMBER` within its task.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agentctl.clock import iso
from agentctl.control.desk import Refused, text_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentctl.control.desk import Desk
    from agentctl.control.handlers import Handler
    from agentctl.engine.entities import Entity
    from agentctl.jsonvalue import JsonObject, JsonValue


def document_id(task_id: str, key: str) -> str:
    """Return the id of a document, from its task and its key."""
    return f"{task_id}#{key}"


def revision_id(document: Entity) -> str:
    """Return the name of a document's revision within its task."""
    return f"{document.id.rpartition('#')[2]}@{document.revision}"


def list_documents(desk: Desk, given: JsonObject) -> JsonValue:
    """List the documents of the task."""
    del given
    return [_head(one) for one in desk.view.entities("document", desk.call.task_id)]


def read_document(desk: Desk, given: JsonObject) -> JsonValue:
    """Return the newest text of one document."""
    found = _document(desk, given)
    return {**_head(found), "body": found.body["body"]}


def list_document_revisions(desk: Desk, given: JsonObject) -> JsonValue:
    """List all revisions of one document, counted from 1."""
    found = _document(desk, given)
    return [
        {
            **_head(one.entity),
            "changeSummary": one.entity.body.get("changeSummary"),
            "actor": one.actor,
            "at": iso(one.entity.updated_at),
        }
        for one in desk.view.revisions("document", found.id)
    ]


def write_document(desk: Desk, given: JsonObject) -> JsonValue:
    """Create a document, or write the next revision of the one that the caller has read."""
    task, key, base = desk.assignment(), text_of(given, "key"), given["baseRevisionId"]
    body = {name: value for name, value in given.items() if name not in ("key", "baseRevisionId")}
    id = document_id(task.id, key)
    found = desk.entity("document", id)
    current = None if found is None else revision_id(found)
    if base != current:
        raise Refused("revision_conflict", currentRevisionId=current)
    if found is None:
        return _head(desk.create("document", body, owner=task.id, id=id))
    return _head(desk.move(found, "write", body))


def _document(desk: Desk, given: JsonObject) -> Entity:
    key = text_of(given, "key")
    found = desk.entity("document", document_id(desk.call.task_id, key))
    if found is None:
        raise Refused("unknown_document", key=key)
    return found


def _head(document: Entity) -> JsonObject:
    return {
        "key": document.id.rpartition("#")[2],
        "title": document.body["title"],
        "revisionId": revision_id(document),
        "revision": document.revision,
        "state": document.state,
    }


HANDLERS: Final[Mapping[str, Handler]] = {
    "list_documents": list_documents,
    "read_document": read_document,
    "list_document_revisions": list_document_revisions,
    "write_document": write_document,
}
