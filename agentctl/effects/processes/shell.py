"""`builtin.shell.exec`: one program with its arguments, without a shell.

Above: the registry. Below: a bounded run. An exit code other than 0 is a definite failure, a
signal leaves doubt, and so do a deadline and a cancellation, with what was printed so far kept.
Source: specification, section 6 (processes).
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, cast

from agentctl.effects.processes.container import remove, require_container
from agentctl.effects.processes.output import (
    decode,
    last_line,
    refuse_overflow,
    refuse_signal,
    seen,
    seen_so_far,
)
from agentctl.effects.processes.preparing import prepare
from agentctl.effects.processes.running import Captured, run_bounded
from agentctl.errors import EffectError

if TYPE_CHECKING:
    from agentctl.effects.processes.command import Command
    from agentctl.effects.processes.running import Finished
    from agentctl.engine.ports import EffectContext, EffectRequest
    from agentctl.engine.records import EffectRecord
    from agentctl.jsonvalue import JsonObject, JsonValue


class ShellExec:
    """Runs a program and gives its exit code and what it printed."""

    def preflight(self, request: EffectRequest, definitions: JsonObject) -> None:
        """Refuse a container that this machine cannot give."""
        require_container(request, definitions)

    async def execute(self, effect: EffectRecord, context: EffectContext) -> JsonValue:
        """Return the action's record with `{exitCode, stdout, stderr, truncated}`."""
        request = cast("JsonObject", effect.input)
        stdin = cast("str", request.get("stdin") or "").encode("utf-8", "surrogatepass")
        command = await prepare(effect, context, stdin=stdin)
        finished = await run_observed(command, context)
        refuse_overflow(finished, command.limits)
        refuse_signal(finished)
        if finished.exit_code != 0:
            said = last_line(finished.stderr) or last_line(finished.stdout)
            message = f"{request['command']} ended with exit code {finished.exit_code}"
            raise EffectError(
                f"{message}: {said}" if said else message,
                code="process_failed",
                retryable=True,
                detail=seen(finished),
            )
        output: JsonObject = {
            "exitCode": 0,
            "stdout": decode(finished.stdout, "standard output", finished),
            "stderr": decode(finished.stderr, "standard error", finished),
            "truncated": False,
        }
        return {
            "status": "changed",
            "changed": True,
            "before": None,
            "after": None,
            "diff": None,
            "output": output,
            "predictability": "requires_execution",
        }


async def run_observed(command: Command, context: EffectContext) -> Finished:
    """Run a program; its process id, and what it printed when it is cut short, are recorded."""
    captured = Captured()

    async def started(pid: int) -> None:
        await context.emit("process.started", {"pid": pid, "program": command.program})

    try:
        return await run_bounded(command, captured, started)
    except asyncio.CancelledError:
        context.observed.update(seen_so_far(captured))
        raise
    finally:
        if command.container is not None:
            remove(command)
