"""Programs of tasks that start a program: what exactly is asked for goes on the ledger.

Above: the runner, through `agentctl.engine.programs`. Below: executors, by operation name.
Source: specification, section 6.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from agentctl.engine.kinds import kind_of
from agentctl.engine.policy import program_allowed, program_name
from agentctl.engine.ports import EffectRequest
from agentctl.engine.programs.base import Steps, TaskContext, TaskError, TaskResult
from agentctl.limits import (
    PROCESS_ARGUMENTS_MAX,
    PROCESS_COMBINED_BYTES,
    PROCESS_STREAM_BYTES,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentctl.engine.records import Idempotency
    from agentctl.jsonvalue import JsonObject, JsonValue

SHELL_INPUTS = ("command", "args", "cwd", "stdin")
_PROTOCOL_FIELDS = ("protocolVersion", "inputSchema", "outputSchema", "capabilities")


def process_steps(context: TaskContext) -> Steps:
    """Ask for one run of a program, and give what it returned."""
    name = cast("str", context.task.uses_name)
    definition = cast("dict[str, JsonObject]", context.definitions["actions"])[name]
    facts = kind_of(cast("str", definition["kind"]))
    asked = process_input(context.definitions, definition, context.input)
    denied = context.policy.denial(facts.capability, (name,))
    if denied is not None:
        raise TaskError(denied, code="policy_denied")
    result = yield EffectRequest(
        operation=facts.kind,
        effect_class=facts.effect_class,
        idempotency=cast("Idempotency | None", definition.get("idempotency")) or facts.idempotency,
        risk=facts.risk,
        input=asked,
        timeout_seconds=context.task.timeout_seconds,
        capability=facts.capability,
        names=(name,),
        hints=process_hints(definition),
    )
    return TaskResult(output=result)


def process_hints(definition: JsonObject) -> Mapping[str, object]:
    """Return what an executor needs besides the request: how to check an extension's output."""

    def check(output: JsonValue) -> list[str]:
        from agentctl.engine.schema_check import validate

        return validate(output, definition["outputSchema"])

    return {"check": check}


def process_input(
    definitions: JsonObject, definition: JsonObject, given: JsonObject
) -> JsonObject:
    """Return all that running an action's program means, as the ledger keeps it.

    Raises TaskError for an input that does not fit, and a program that the policy does not list.
    """
    is_shell = definition["kind"] == "builtin.shell.exec"
    asked = _shell(given) if is_shell else _extension(definition, given)
    _allow(definitions, asked)
    return {**asked, **_surroundings(definition)}


def _shell(given: JsonObject) -> JsonObject:
    """Return command, arguments, folder and input of a task, each checked."""
    command, args = given.get("command"), given.get("args", [])
    cwd, stdin = given.get("cwd"), given.get("stdin")
    problems = [f"{key} is not an input of it" for key in given if key not in SHELL_INPUTS]
    if not isinstance(command, str) or not command:
        problems.append("command is not a text")
    if not isinstance(args, list) or not all(map(_is_argument, args)):
        problems.append("args is not a list of texts and numbers")
    elif len(args) > PROCESS_ARGUMENTS_MAX:
        problems.append(f"args has more than {PROCESS_ARGUMENTS_MAX} items")
    problems += [
        f"{key} is not a text"
        for key, value in (("cwd", cwd), ("stdin", stdin))
        if value is not None and not isinstance(value, str)
    ]
    if problems:
        raise TaskError(
            f"input of builtin.shell.exec: {'; '.join(problems)}", code="invalid_input"
        )
    texts: list[JsonValue] = [_argument(one) for one in cast("list[JsonValue]", args)]
    asked: JsonObject = {"command": command, "args": texts, "cwd": cwd}
    return asked if stdin is None else {**asked, "stdin": stdin}


def _is_argument(value: JsonValue) -> bool:
    """Return whether a rendered value has one obvious spelling, and no NUL."""
    if isinstance(value, str):
        return "\0" not in value
    return isinstance(value, int | float) and not isinstance(value, bool)


def _argument(value: JsonValue) -> str:
    return value if isinstance(value, str) else str(value)


def _extension(definition: JsonObject, given: JsonObject) -> JsonObject:
    """Return what an extension is asked, with all that it must declare of itself."""
    from agentctl.engine.schema_check import validate

    problems = validate(given, definition["inputSchema"])
    if problems:
        message = f"the input does not fit inputSchema: {'; '.join(problems)}"
        raise TaskError(message, code="schema_violation")
    return {
        "command": definition["command"],
        "args": definition["args"],
        "cwd": definition.get("cwd"),
        **{key: definition[key] for key in _PROTOCOL_FIELDS},
        "input": given,
    }


def _surroundings(definition: JsonObject) -> JsonObject:
    """Return what a program is given and bound by; secrets by reference, never by value."""
    return {
        "environment": definition["env"],
        "limits": {
            "stdoutLimitBytes": definition.get("stdoutLimitBytes") or PROCESS_STREAM_BYTES,
            "stderrLimitBytes": definition.get("stderrLimitBytes") or PROCESS_STREAM_BYTES,
            "combinedOutputLimitBytes": definition.get("combinedOutputLimitBytes")
            or PROCESS_COMBINED_BYTES,
        },
        "isolation": definition["isolation"],
        "container": definition.get("container"),
    }


def _allow(definitions: JsonObject, asked: JsonObject) -> None:
    """Ask the policy again about the program, which a template may have named."""
    policy = cast("JsonObject", definitions["policy"])
    command = cast("str", asked["command"])
    if not program_allowed(command, cast("list[str]", policy["processAllowlist"])):
        message = f"policy.processAllowlist does not list the program {program_name(command)!r}"
        raise TaskError(message, code="policy_denied")
