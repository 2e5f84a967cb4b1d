"""What people do to the entities that agents made: answers to questions, and judgements.

Above: the table of handlers. Below: the desk. These operations are no tools: no agent sees them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agentctl.control.desk import text_of
from agentctl.control.handlers.dependencies import release_waiting
from agentctl.machines.names import RequestStates

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentctl.control.desk import Desk
    from agentctl.control.handlers import Handler
    from agentctl.engine.entities import Entity
    from agentctl.jsonvalue import JsonObject, JsonValue
    from agentctl.machines.names import RequestEvent


def answer_request(desk: Desk, given: JsonObject) -> JsonValue:
    """Answer a question, or decline it; the task that asked goes on."""
    asked = desk.require("request", text_of(given, "requestId"))
    event: RequestEvent = "answer" if given["accepted"] else "decline"
    body = {**asked.body, "answer": given.get("answer"), "answeredBy": desk.call.actor}
    after = desk.move(asked, event, body)
    desk.move(desk.require("assignment", asked.owner), "answer")
    return request_data(after)


def judge_review(desk: Desk, given: JsonObject) -> JsonValue:
    """Accept what a task handed in, or send it back with what has to change."""
    review = desk.require("review", text_of(given, "reviewId"))
    is_accepted = bool(given["accepted"])
    body = {**review.body, "comment": given.get("comment"), "judgedBy": desk.call.actor}
    after = desk.move(review, "accept" if is_accepted else "send_back", body)
    task = desk.require("assignment", review.owner)
    moved = desk.move(task, "accept" if is_accepted else "answer")
    if is_accepted:
        release_waiting(desk, moved)
    return {"reviewId": after.id, "state": after.state, "taskId": task.id}


def take_answer(desk: Desk, given: JsonObject) -> JsonValue:
    """Return a person's answer to the agent that waits for it.

    Somebody who let the agent go on without an answer of their own has said yes, no more.
    """
    asked = desk.require("request", text_of(given, "requestId"))
    if not asked.is_final:
        asked = desk.move(asked, "answer", {**asked.body, "answer": None, "answeredBy": None})
        desk.move(desk.require("assignment", asked.owner), "answer")
    return request_data(asked)


def request_data(asked: Entity) -> JsonObject:
    """Return a question to a person as commands and tools show it."""
    return {
        "requestId": asked.id,
        "taskId": asked.owner,
        "state": asked.state,
        "accepted": asked.state == RequestStates.answered,
        **asked.body,
    }


HANDLERS: Final[Mapping[str, Handler]] = {
    "answer_request": answer_request,
    "judge_review": judge_review,
    "take_answer": take_answer,
}
