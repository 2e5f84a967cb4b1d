"""The caller's own task: reading it, telling how it goes, ending the turn, looking up a result.

Above: the table of handlers. Below: the desk.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from agentctl.clock import iso
from agentctl.control.desk import Refused, text_of, texts
from agentctl.control.handlers.dependencies import release_waiting, require_tasks

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentctl.control.desk import Desk
    from agentctl.control.handlers import Handler
    from agentctl.engine.entities import Entity, EntityMove
    from agentctl.jsonvalue import JsonObject, JsonValue

_HISTORY_DEFAULT: Final = 50


def task_data(task: Entity) -> JsonObject:
    """Return an assignment as the tools show it."""
    return {
        "taskId": task.id,
        "state": task.state,
        "revision": task.revision,
        **task.body,
    }


def get_task_context(desk: Desk, given: JsonObject) -> JsonValue:
    """Return the task: what is asked, how it stands, what it waits for, who takes part."""
    del given
    task, call = desk.assignment(), desk.call
    blockers = [
        task_data(found)
        for found in (
            desk.entity("assignment", one) for one in texts(task.body["blockedByTaskIds"])
        )
        if found is not None
    ]
    waiting: list[JsonValue] = [
        {"id": one.id, "kind": one.kind, "state": one.state}
        for one in (
            *desk.view.entities("request", task.id),
            *desk.view.entities("review", task.id),
        )
        if not one.is_final
    ]
    return {
        **task_data(task),
        "goal": call.brief,
        "mode": call.mode,
        "actor": {"id": call.actor, "role": call.role},
        "dependsOn": [*blockers],
        "waitsFor": waiting,
    }


def get_task_history(desk: Desk, given: JsonObject) -> JsonValue:
    """Return what happened on the task, the latest first."""
    limit = cast("int", given.get("limit", _HISTORY_DEFAULT))
    return [_happened(one) for one in desk.view.history(desk.call.task_id, limit)]


def report_progress(desk: Desk, given: JsonObject) -> JsonValue:
    """Keep a note for those who follow the task."""
    return _note(desk, "progress", given)


def answer_status_question(desk: Desk, given: JsonObject) -> JsonValue:
    """Keep an answer for somebody who asked; the task's state stays as it is."""
    return _note(desk, "status", given)


def finish_task(desk: Desk, given: JsonObject) -> JsonValue:
    """Call the task done."""
    task = desk.assignment()
    after = desk.move(task, "finish", {**task.body, "summary": given["summary"]})
    release_waiting(desk, after)
    return task_data(after)


def block_task(desk: Desk, given: JsonObject) -> JsonValue:
    """Say why the task cannot go on, and which tasks it waits for."""
    task = desk.assignment()
    blockers = texts(given.get("blockedByTaskIds"))
    if task.id in blockers:
        raise Refused("dependency_circle", circle=[task.id, task.id])
    require_tasks(desk, blockers)
    body: JsonObject = {**task.body, "reason": given["reason"], "blockedByTaskIds": [*blockers]}
    return task_data(desk.move(task, "block", body))


def request_review(desk: Desk, given: JsonObject) -> JsonValue:
    """Hand the task in; a task that is in review already is refused."""
    task = desk.assignment()
    after = desk.move(task, "submit", {**task.body, "summary": given["summary"]})
    body: JsonObject = {"summary": given["summary"], "requestedBy": desk.call.actor}
    review = desk.create("review", body, owner=task.id)
    return {**task_data(after), "reviewId": review.id}


def inspect_operation_result(desk: Desk, given: JsonObject) -> JsonValue:
    """Return what an earlier call of this run has answered."""
    wanted = text_of(given, "operationResultId")
    found = desk.view.result(desk.call.run_id, wanted)
    if found is None:
        raise Refused("unknown_operation_result", id=wanted)
    return found


def _note(desk: Desk, about: str, given: JsonObject) -> JsonValue:
    task = desk.assignment()
    note = desk.create("note", {"about": about, "body": given["body"]}, owner=task.id)
    return {"noteId": note.id, "taskId": task.id, "state": task.state}


def _happened(move: EntityMove) -> JsonObject:
    one = move.entity
    return {
        "at": iso(one.updated_at),
        "kind": one.kind,
        "id": one.id,
        "event": move.event,
        "state": one.state,
        "revision": one.revision,
        "actor": move.actor,
        "operation": move.operation,
        "body": one.body,
    }


HANDLERS: Final[Mapping[str, Handler]] = {
    "get_task_context": get_task_context,
    "get_task_history": get_task_history,
    "report_progress": report_progress,
    "answer_status_question": answer_status_question,
    "finish_task": finish_task,
    "block_task": block_task,
    "request_review": request_review,
    "inspect_operation_result": inspect_operation_result,
}
