"""What the company shares: cases, services, routines, skills, and the names of secrets.

Above: the table of handlers. Below: the desk. Services, routines and skills are records for
whoever runs them: nothing is started here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agentctl.control.desk import text_of
from agentctl.control.handlers.discovery import entries

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentctl.control.desk import Desk
    from agentctl.control.handlers import Handler
    from agentctl.engine.entities import Entity
    from agentctl.jsonvalue import JsonObject, JsonValue
    from agentctl.machines.names import ServiceEvent

_ACTIONS: Final[Mapping[str, ServiceEvent]] = {"start": "start", "stop": "stop", "fail": "fail"}


def list_cases(desk: Desk, given: JsonObject) -> JsonValue:
    """Return the cases on record, closed ones as well."""
    del given
    return [_case(one) for one in desk.view.entities("case")]


def upsert_case(desk: Desk, given: JsonObject) -> JsonValue:
    """Create a case, or replace its text."""
    key = text_of(given, "key")
    body: JsonObject = {"body": given["body"], "writtenBy": desk.call.actor}
    found = desk.entity("case", key)
    if found is None:
        return _case(desk.create("case", body, id=key))
    return _case(desk.move(found, "write", body))


def get_workspace_runtime(desk: Desk, given: JsonObject) -> JsonValue:
    """Return the services of the run's workspace, and how they are."""
    del given
    return [_service(one) for one in desk.view.entities("service", desk.call.run_id)]


def control_workspace_service(desk: Desk, given: JsonObject) -> JsonValue:
    """Record that a service starts, stops or has failed; one that starts may be new."""
    name, action = text_of(given, "serviceId"), text_of(given, "action")
    id = f"{desk.call.run_id}#{name}"
    found = desk.entity("service", id)
    if found is None and _ACTIONS[action] == "start":
        found = desk.create("service", {"serviceId": name}, owner=desk.call.run_id, id=id)
    if found is None:
        found = desk.require("service", id)
    url = given.get("url", found.body.get("url"))
    return _service(desk.move(found, _ACTIONS[action], {"serviceId": name, "url": url}))


def list_routines(desk: Desk, given: JsonObject) -> JsonValue:
    """Return the routines that are not retired."""
    del given
    return entries(desk, "routine")


def manage_routine(desk: Desk, given: JsonObject) -> JsonValue:
    """Put on record that the routines need a change; its first version cannot say which."""
    del given
    body: JsonObject = {"about": "routines", "by": desk.call.actor}
    note = desk.create("note", body, owner=desk.assignment().id)
    return {"noteId": note.id, "routines": entries(desk, "routine")}


def list_company_skills(desk: Desk, given: JsonObject) -> JsonValue:
    """Return the skills."""
    del given
    return entries(desk, "skill")


def sync_company_skills(desk: Desk, given: JsonObject) -> JsonValue:
    """Mark every skill as to be brought up to date by whoever keeps their sources."""
    del given
    found = [one for one in desk.view.entities("skill") if not one.is_final]
    for one in found:
        desk.move(one, "revise", {**one.body, "syncRequestedBy": desk.call.actor})
    return {"skills": [one.id for one in found]}


def list_secret_metadata(desk: Desk, given: JsonObject) -> JsonValue:
    """Return the names of the secrets, what they are for, and whether the run could read them."""
    del given
    known = [one for one in desk.view.entities("secret") if not one.is_final]
    purposes: dict[str, JsonValue] = dict.fromkeys(desk.call.secrets)
    purposes |= {one.id: one.body["purpose"] for one in known}
    return [
        {"name": name, "purpose": purpose, "readable": name in desk.call.secrets}
        for name, purpose in purposes.items()
    ]


def _case(one: Entity) -> JsonObject:
    return {"key": one.id, "state": one.state, "revision": one.revision, **one.body}


def _service(one: Entity) -> JsonObject:
    return {"state": one.state, "revision": one.revision, **one.body}


HANDLERS: Final[Mapping[str, Handler]] = {
    "list_cases": list_cases,
    "upsert_case": upsert_case,
    "get_workspace_runtime": get_workspace_runtime,
    "control_workspace_service": control_workspace_service,
    "list_routines": list_routines,
    "manage_routine": manage_routine,
    "list_company_skills": list_company_skills,
    "sync_company_skills": sync_company_skills,
    "list_secret_metadata": list_secret_metadata,
}
