"""`Descriptor`: all that is fixed about one tool, whoever calls it and over whichever transport.

Above: the catalog. Below: the shapes of schemas. Source: the semantic tool specification,
"Descriptors".
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final, Literal, get_args

from attr import frozen

from agentctl.catalog.schemas import anything, closed, one_of, some_text
from agentctl.jsonvalue import load_stored
from agentctl.value import Value

if TYPE_CHECKING:
    from agentctl.jsonvalue import JsonObject, JsonValue

Disposition = Literal["always_agent_tool", "optional_agent_tool"]
Group = Literal[
    "discovery",
    "delegation_dependencies",
    "governance",
    "cases",
    "workspace_runtime",
    "routines",
    "company_skills",
    "secrets",
    "portability_admin",
    "test_escape_hatch",
]
TaskMode = Literal["standard", "ask", "planning", "skill_test"]
SideEffectClass = Literal[
    "read",
    "task_write",
    "company_write",
    "governance",
    "workspace_control",
    "secret_read",
    "admin",
    "test_escape_hatch",
]
Idempotency = Literal["none", "required"]
Redacted = Literal["input", "output", "error", "authorization_record"]

GROUPS: Final[tuple[Group, ...]] = get_args(Group)
TASK_MODES: Final[tuple[TaskMode, ...]] = get_args(TaskMode)
ANY_MODE: Final = TASK_MODES
# What changes the work itself waits until the task is really worked on.
WORKING: Final[tuple[TaskMode, ...]] = ("standard", "skill_test")
DRAFTING: Final[tuple[TaskMode, ...]] = ("standard", "planning", "skill_test")


@frozen(eq=False, repr=False)
class Redaction(Value):
    """What stands in place of a value before anything is observed or stored.

    `path` is where the value stands, from `$`; `applies_to` are the documents that hold it.
    """

    path: str
    replacement: str
    applies_to: tuple[Redacted, ...]


@frozen(kw_only=True, eq=False, repr=False)
class Descriptor(Value):
    """One tool.

    `required_claims` must all be granted. `allowed_roles` is None where every role may call it.
    A tool with `idempotency` `required` is called with a key, and repeated with the same key it
    answers what it answered first. Schemas are kept as text, so that nobody can change them.
    """

    operation_id: str
    version: int
    title: str
    description: str
    disposition: Disposition
    group: Group | None
    required_claims: tuple[str, ...]
    allowed_roles: tuple[str, ...] | None
    task_modes: tuple[TaskMode, ...]
    side_effect_class: SideEffectClass
    idempotency: Idempotency
    redaction: tuple[Redaction, ...]
    input_text: str
    output_text: str

    @property
    def input_schema(self) -> JsonObject:
        """A new copy of the JSON Schema of what the tool takes: a closed object."""
        return _object(self.input_text)

    @property
    def output_schema(self) -> JsonObject:
        """A new copy of the JSON Schema of what the tool answers."""
        return _object(self.output_text)


def tool(
    operation_id: str,
    title: str,
    description: str,
    input_schema: JsonObject,
    *,
    effect: SideEffectClass = "read",
    modes: tuple[TaskMode, ...] = ANY_MODE,
    group: Group | None = None,
    claim: str | None = None,
    roles: tuple[str, ...] | None = None,
    redaction: tuple[Redaction, ...] = (),
) -> Descriptor:
    """Return version 1 of a tool; one without a group is for every agent.

    What only reads may be called again at will; everything else needs a key.
    """
    assert (group is None) == (claim is None), "a tool of a group, and no other, needs a claim"
    return Descriptor(
        operation_id=operation_id,
        version=1,
        title=title,
        description=description,
        disposition="optional_agent_tool" if group else "always_agent_tool",
        group=group,
        required_claims=(claim,) if claim else (),
        allowed_roles=roles,
        task_modes=modes,
        side_effect_class=effect,
        idempotency="none" if effect in READING else "required",
        redaction=redaction,
        input_text=json.dumps(input_schema),
        output_text=_RESULT,
    )


# Classes of tools that change nothing.
READING: Final[tuple[SideEffectClass, ...]] = ("read", "secret_read")


def descriptor_data(descriptor: Descriptor) -> JsonObject:
    """Return a descriptor as JSON; a role list that is absent lets every role call the tool."""
    modes: list[JsonValue] = [*descriptor.task_modes]
    redaction: list[JsonValue] = [
        {"path": one.path, "replacement": one.replacement, "appliesTo": [*one.applies_to]}
        for one in descriptor.redaction
    ]
    data: JsonObject = {
        "operationId": descriptor.operation_id,
        "version": descriptor.version,
        "title": descriptor.title,
        "description": descriptor.description,
        "disposition": descriptor.disposition,
        "optionalGroup": descriptor.group,
        "requiredClaims": [*descriptor.required_claims],
        "taskModes": modes,
        "sideEffectClass": descriptor.side_effect_class,
        "idempotency": descriptor.idempotency,
        "redaction": redaction,
        "inputSchema": descriptor.input_schema,
        "outputSchema": descriptor.output_schema,
    }
    if descriptor.allowed_roles is not None:
        data["allowedRoles"] = [*descriptor.allowed_roles]
    return data


def _object(written: str) -> JsonObject:
    value = load_stored(written)
    assert isinstance(value, dict), "a schema of a tool is an object"
    return value


# The one envelope of all results; its name is that of the catalog's first version.
_RESULT: Final = json.dumps(
    closed(
        {
            "schema": one_of("paperclip.capability.tool-result.v1"),
            "ok": {"type": "boolean"},
            "operationId": some_text(),
            "operationResultId": some_text(),
            "value": anything(),
            "commandResult": anything(),
            "authorization": anything(),
        }
    )
)
