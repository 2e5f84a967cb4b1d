"""What an effect's result looks like, so that a person may stand in for a lost one.

Above: reconciliation and probes. Below: the plan's definitions and the schema check. Pure.
Source: specification, section 6.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from attr import frozen

from agentctl.jsonvalue import exceeds
from agentctl.limits import OUTPUT_BYTES_MAX
from agentctl.value import Value

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentctl.engine.plan import Plan
    from agentctl.engine.policy import ApprovalOverride
    from agentctl.engine.records import EffectRecord
    from agentctl.jsonvalue import JsonObject, JsonValue

_TEXT: Final[JsonObject] = {"type": "string"}
_COUNT: Final[JsonObject] = {"type": "integer", "minimum": 0}


def _object(**properties: JsonValue) -> JsonObject:
    """Return the schema of an object that has these members, and may have others."""
    return {"type": "object", "required": [*properties], "properties": properties}


_FILE: Final = _object(path=_TEXT, bytes=_COUNT, sha256=_TEXT)
_READ: Final = _object(path=_TEXT, content=_TEXT, bytes=_COUNT, sha256=_TEXT)
_TURN: Final = _object(
    text=_TEXT,
    toolCalls={"type": "array", "items": _object(id=_TEXT, name=_TEXT, arguments=True)},
    usage=_object(inputTokens=_COUNT, outputTokens=_COUNT),
    stopReason={"type": ["string", "null"]},
)
# The outputs inside the record of each built-in action that reaches outside.
_OUTPUTS: Final[Mapping[str, JsonValue]] = {
    "builtin.read": _READ,
    "builtin.write": _FILE,
    "builtin.shell.exec": _object(exitCode=_COUNT, stdout=_TEXT, stderr=_TEXT),
    "builtin.long_term_memory.read": True,
    "builtin.long_term_memory.write": True,
    "builtin.long_term_memory.search": True,
    "builtin.long_term_memory.promote": True,
}


@frozen(kw_only=True, eq=False, repr=False)
class Contract(Value):
    """The shape of a result: where it is declared, and its JSON Schema (true: anything)."""

    source: str
    schema: JsonValue

    def problems(self, result: JsonValue) -> list[str]:
        """Return everything that keeps a value from being such a result."""
        if exceeds(result, OUTPUT_BYTES_MAX):
            return [f"it has more than OUTPUT_BYTES_MAX = {OUTPUT_BYTES_MAX:,} bytes"]
        if self.schema is True:
            return []
        from agentctl.engine.schema_check import validate

        return validate(result, self.schema)

    @property
    def allows_none(self) -> bool:
        """Whether no result at all is one."""
        return not self.problems(None)


def contract_of(effect: EffectRecord, plan: Plan) -> Contract:
    """Return what the operation of an effect returns."""
    operation = effect.operation
    if operation.startswith("model."):
        return Contract(source="a model's turn", schema=_TURN)
    if plan.tasks[effect.task_id].uses_kind == "agent":
        return _of_tools(tools_of(effect, plan))
    if operation in _OUTPUTS:
        return Contract(source=f"the record of {operation}", schema=_record(_OUTPUTS[operation]))
    action = action_of(effect, plan)
    schema = action.get("outputSchema")
    if schema is not None:
        return Contract(source="the action's outputSchema", schema=schema)
    return Contract(source=f"anything that {operation} may return", schema=True)


def action_of(effect: EffectRecord, plan: Plan) -> JsonObject:
    """Return the definition of the action that a task's effect belongs to; {} for an agent's."""
    task = plan.tasks[effect.task_id]
    actions = cast("dict[str, JsonObject]", plan.definitions["actions"])
    return actions.get(str(task.uses_name), {}) if task.uses_kind == "action" else {}


def tools_of(effect: EffectRecord, plan: Plan) -> dict[str, JsonObject]:
    """Return the tools of an agent that an effect can have been a call of.

    The ledger keeps a call's operation and arguments, not the tool's name.
    """
    task = plan.tasks[effect.task_id]
    if task.uses_kind != "agent":
        return {}
    agents = cast("dict[str, JsonObject]", plan.definitions["agents"])
    tools = cast("dict[str, JsonObject]", plan.definitions["tools"])
    granted = cast("list[str]", agents[str(task.uses_name)].get("tools") or [])
    alike = {name: tools[name] for name in granted if tools[name]["kind"] == effect.operation}
    if len(alike) < 2:
        return alike
    from agentctl.engine.schema_check import validate

    return {
        name: tool
        for name, tool in alike.items()
        if not validate(effect.input, tool["inputSchema"])
    }


def approval_of(effect: EffectRecord, plan: Plan) -> ApprovalOverride:
    """Return the tool's own word on approval; the strictest where several tools are alike."""
    said = {str(tool.get("approval") or "policy") for tool in tools_of(effect, plan).values()}
    if "always" in said:
        return "always"
    return "never" if said == {"never"} else "policy"


def _of_tools(tools: dict[str, JsonObject]) -> Contract:
    if not tools:
        return Contract(source="anything, for no tool is known", schema=True)
    if len(tools) == 1:
        ((name, tool),) = tools.items()
        return Contract(source=f"the outputSchema of tool {name}", schema=tool["outputSchema"])
    schemas = [tool["outputSchema"] for tool in tools.values()]
    names = " or ".join(tools)
    return Contract(source=f"the outputSchema of tool {names}", schema={"anyOf": schemas})


def _record(output: JsonValue) -> JsonObject:
    return _object(
        status={"enum": ["changed", "unchanged", "skipped", "failed"]},
        changed={"type": "boolean"},
        before=True,
        after=True,
        diff={"type": ["string", "null"]},
        output=output,
        predictability=_TEXT,
    )
