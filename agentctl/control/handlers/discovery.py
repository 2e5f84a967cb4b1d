"""What there is in the company: tasks, agents, projects, goals.

Above: the table of handlers. Below: the desk.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agentctl.control.desk import Refused
from agentctl.control.handlers.own_task import task_data
from agentctl.machines.compiled import ASSIGNMENT

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentctl.control.desk import Desk
    from agentctl.control.handlers import Handler
    from agentctl.engine.entities import Entity, EntityKind
    from agentctl.jsonvalue import JsonObject, JsonValue


def search_tasks(desk: Desk, given: JsonObject) -> JsonValue:
    """Return the tasks that have a text and a state; what is not given finds all."""
    status, query = given.get("status"), str(given.get("query", "")).casefold()
    if status is not None and status not in ASSIGNMENT.states:
        known: list[JsonValue] = [*ASSIGNMENT.states]
        raise Refused("unknown_status", code="input_invalid", known=known)
    return [
        task_data(one)
        for one in desk.view.entities("assignment")
        if status in (None, one.state) and query in _text(one).casefold()
    ]


def list_agents(desk: Desk, given: JsonObject) -> JsonValue:
    """Return the agents of the caller's workflow, and those that are registered besides."""
    del given
    return [*desk.call.agents, *entries(desk, "agent")]


def list_projects(desk: Desk, given: JsonObject) -> JsonValue:
    """Return the projects."""
    del given
    return entries(desk, "project")


def list_goals(desk: Desk, given: JsonObject) -> JsonValue:
    """Return the goals."""
    del given
    return entries(desk, "goal")


def entries(desk: Desk, kind: EntityKind) -> list[JsonValue]:
    """Return the entries of one kind that still stand."""
    return [
        {"id": one.id, "state": one.state, "revision": one.revision, **one.body}
        for one in desk.view.entities(kind)
        if not one.is_final
    ]


def _text(task: Entity) -> str:
    return f"{task.id}\n{task.body.get('title')}\n{task.body.get('description', '')}"


HANDLERS: Final[Mapping[str, Handler]] = {
    "search_tasks": search_tasks,
    "list_agents": list_agents,
    "list_projects": list_projects,
    "list_goals": list_goals,
}
