"""A registered Python function in a process of its own, which can be stopped at any point.

Above: `effects.functions`. Below: a bounded run of `worker.py`. A function that computes without
a pause holds the interpreter's lock, so a thread of this process could neither be stopped nor
let others go on.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from typing import TYPE_CHECKING, Final, cast

from agentctl.effects.processes.command import Command, Limits
from agentctl.effects.processes.output import seen_so_far
from agentctl.effects.processes.running import Captured, run_bounded
from agentctl.errors import EffectError, UsageError
from agentctl.limits import OUTPUT_BYTES_MAX, PROCESS_STREAM_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentctl.engine.ports import EffectContext
    from agentctl.jsonvalue import JsonObject, JsonValue

_WORKER: Final = "agentctl.effects.processes.worker"


def locate(call: Callable[..., object]) -> dict[str, str]:
    """Return where another process finds a function: its module, or the script it stands in.

    Raises UsageError for one that has no name of its own there.
    """
    name = call.__qualname__
    module = sys.modules.get(call.__module__)
    found: object = module
    for part in name.split("."):
        found = getattr(found, part, None)
    # While it is being decorated, its name does not stand there yet.
    if "<" in name or (
        found is not None and getattr(found, "__code__", None) is not call.__code__
    ):
        raise UsageError(
            f"{name} cannot run in a process of its own: no other process can import it",
            help="define it at the top of a module",
        )
    if call.__module__ != "__main__":
        return {"module": call.__module__, "name": name}
    path = getattr(module, "__file__", None)
    if path is None:
        raise UsageError(f"{name} cannot run in a process of its own: its module is no file")
    return {"script": os.path.abspath(path), "name": name}


async def call_in_process(
    place: dict[str, str], arguments: JsonObject, context: EffectContext
) -> JsonValue:
    """Return what the function returns. Raises EffectError with what it raised."""
    request = json.dumps({**place, "arguments": arguments}).encode()
    command = Command(
        program=sys.executable,
        arguments=("-m", _WORKER),
        folder=context.workspace,
        environment={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        limits=Limits(
            stdout_bytes=OUTPUT_BYTES_MAX,
            stderr_bytes=PROCESS_STREAM_BYTES,
            combined_bytes=OUTPUT_BYTES_MAX + PROCESS_STREAM_BYTES,
        ),
        stdin=request,
    )
    captured = Captured()
    try:
        finished = await run_bounded(command, captured)
    except asyncio.CancelledError:
        context.observed.update(seen_so_far(captured))
        raise
    if finished.overflow == "stdoutLimitBytes":
        message = (
            f"{place['name']} returned more than OUTPUT_BYTES_MAX = {OUTPUT_BYTES_MAX:,} bytes"
        )
        raise EffectError(message, code="output_too_large", ambiguous=True)
    if finished.overflow is not None or finished.exit_code != 0:
        said = finished.stderr.decode("utf-8", "replace").strip()[-500:]
        raise EffectError(
            f"the process of {place['name']} ended with {finished.exit_code}: {said}",
            code="process_killed",
            retryable=True,
            ambiguous=True,
        )
    return _answer(json.loads(finished.stdout))


def _answer(answer: JsonObject) -> JsonValue:
    error = answer.get("error")
    if not isinstance(error, dict):
        return answer["value"]
    raise EffectError(
        cast("str", error["message"]),
        code=cast("str", error["code"]),
        retryable=bool(error["retryable"]),
        ambiguous=bool(error["ambiguous"]),
        detail=error["detail"],
    )
