"""Which tasks wait for which: creating tasks for others, and what happens when one is done.

Above: the table of handlers, and the handlers that end a task. Below: the desk.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agentctl.control.desk import Refused, texts
from agentctl.machines.names import AssignmentStates

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from agentctl.control.desk import Desk
    from agentctl.control.handlers import Handler
    from agentctl.engine.entities import Entity
    from agentctl.jsonvalue import JsonObject, JsonValue


def create_task(desk: Desk, given: JsonObject) -> JsonValue:
    """Open a task; it is blocked while one that it waits for is not done."""
    assignee = given.get("assigneeActorId")
    known = {one["actorId"] for one in desk.call.agents} | {
        one.body["actorId"] for one in desk.view.entities("agent") if not one.is_final
    }
    if assignee is not None and assignee not in known:
        raise Refused("unknown_agent", id=assignee)
    blockers = texts(given.get("blockedByTaskIds"))
    waits = not _all_done(desk, require_tasks(desk, blockers))
    body: JsonObject = {
        **given,
        "blockedByTaskIds": [*blockers],
        "createdBy": desk.call.actor,
        "parentTaskId": desk.assignment().id,
    }
    task = desk.create("assignment", body, owns_itself=True)
    if waits:
        task = desk.move(task, "block")
    return {"taskId": task.id, "state": task.state, "title": given["title"]}


def set_dependencies(desk: Desk, given: JsonObject) -> JsonValue:
    """Replace the list of what the caller's task waits for; a circle is refused."""
    task, blockers = desk.assignment(), texts(given["blockedByTaskIds"])
    for one in require_tasks(desk, blockers):
        trail = _way_to(desk, one, task.id)
        if trail:
            raise Refused("dependency_circle", circle=[task.id, *trail])
    after = desk.move(task, "amend", {**task.body, "blockedByTaskIds": [*blockers]})
    return {"taskId": after.id, "state": after.state, "blockedByTaskIds": [*blockers]}


def require_tasks(desk: Desk, ids: Iterable[str]) -> list[Entity]:
    """Return tasks by their ids. Raises Refused for the first that does not exist."""
    return [desk.require("assignment", one) for one in ids]


def release_waiting(desk: Desk, done: Entity) -> None:
    """Unblock every task that waited for this one and waits for no other."""
    for one in desk.view.entities("assignment"):
        blockers = texts(one.body.get("blockedByTaskIds"))
        if one.state != AssignmentStates.blocked or done.id not in blockers:
            continue
        if _all_done(desk, require_tasks(desk, blockers)):
            desk.move(one, "unblock")


def _all_done(desk: Desk, tasks: Iterable[Entity]) -> bool:
    latest = (desk.require("assignment", one.id) for one in tasks)
    return all(one.state == AssignmentStates.done for one in latest)


def _way_to(desk: Desk, start: Entity, goal: str, seen: tuple[str, ...] = ()) -> list[JsonValue]:
    """Return the tasks from one to another along what they wait for; none where there is no way."""
    if start.id == goal:
        return [goal]
    if start.id in seen:
        return []
    for blocker in texts(start.body.get("blockedByTaskIds")):
        found = desk.entity("assignment", blocker)
        trail = _way_to(desk, found, goal, (*seen, start.id)) if found is not None else []
        if trail:
            return [start.id, *trail]
    return []


HANDLERS: Final[Mapping[str, Handler]] = {
    "create_task": create_task,
    "set_dependencies": set_dependencies,
}
