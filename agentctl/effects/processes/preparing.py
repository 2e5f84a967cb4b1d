"""From a recorded request to a command: program, folder, environment, bounds and container.

Above: the executors. Below: the request as the ledger keeps it (`engine.programs.process`),
secrets, and the container's command line.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from agentctl.effects.processes.command import (
    Command,
    Limits,
    effect_variables,
    find_program,
    working_folder,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentctl.engine.ports import EffectContext
    from agentctl.engine.records import EffectRecord
    from agentctl.jsonvalue import JsonObject


async def prepare(
    effect: EffectRecord,
    context: EffectContext,
    *,
    stdin: bytes = b"",
    more: Sequence[str] = (),
) -> Command:
    """Return the command of an effect; `more` follows the declared arguments.

    Raises EffectError when a program, a folder or a secret is missing or not allowed.
    """
    request = cast("JsonObject", effect.input)
    folder = working_folder(context.workspace, cast("str | None", request.get("cwd")))
    declared = cast("dict[str, JsonObject]", request["environment"])
    secrets: dict[str, str] = {}
    if declared:
        secrets = await context.secrets.environment(declared)
    variables = {**secrets, **effect_variables(effect)}
    name = cast("str", request["command"])
    arguments = (*cast("list[str]", request["args"]), *more)
    limits = limits_of(request)
    if request["isolation"] == "container":
        from agentctl.effects.processes.container import contained

        box = cast("JsonObject", request["container"])
        return contained(name, arguments, box, folder, variables, limits, stdin)
    return Command(
        program=find_program(name, folder),
        arguments=arguments,
        folder=folder,
        environment=variables,
        limits=limits,
        stdin=stdin,
    )


def limits_of(request: JsonObject) -> Limits:
    """Return the bounds of a recorded request."""
    limits = cast("dict[str, int]", request["limits"])
    return Limits(
        stdout_bytes=limits["stdoutLimitBytes"],
        stderr_bytes=limits["stderrLimitBytes"],
        combined_bytes=limits["combinedOutputLimitBytes"],
    )
