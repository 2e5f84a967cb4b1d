"""Registered Python functions as effects, for services that embed the engine.

Above: the runner. A function may be async or plain; a plain one runs in a thread, so that it
cannot stop the loop, or in a process of its own, so that it can be stopped itself. An exception is a definite failure unless it says otherwise by raising
EffectError with `ambiguous`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, cast

from attr import field, frozen

from agentctl.errors import EffectError
from agentctl.jsonvalue import canonical
from agentctl.limits import OUTPUT_BYTES_MAX
from agentctl.value import Value

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from agentctl.engine.ports import EffectContext
    from agentctl.engine.records import EffectRecord, Idempotency
    from agentctl.jsonvalue import JsonObject, JsonValue


RunsIn = Literal["thread", "loop", "process"]


@frozen(kw_only=True, eq=False, repr=False)
class FunctionAction(Value):
    """A function under the name that workflows use; `wants_key`: it takes `idempotency_key`.

    `probe` is how to ask whether a call happened, as a document declares it. `secrets` are
    references by the parameter that is given the value; they are no part of the input. `place`
    is where a process of its own finds the function.
    """

    name: str
    call: Callable[..., object]
    idempotency: Idempotency
    input_schema: JsonObject
    check: Callable[[JsonObject], list[str]]
    is_async: bool
    runs_in: RunsIn = "thread"
    place: dict[str, str] | None = None
    wants_key: bool = False
    probe: JsonObject | None = None
    secrets: Mapping[str, JsonObject] = field(factory=dict)


class FunctionExecutor:
    """`python.function`: calls what was registered under the action's name."""

    def __init__(self, functions: dict[str, FunctionAction]) -> None:
        self._functions = functions

    async def execute(self, effect: EffectRecord, context: EffectContext) -> JsonValue:
        """Return the function's JSON result."""
        name = cast("str", context.hints["action"])
        action = self._functions.get(name)
        if action is None:
            raise EffectError(f"no function is registered for {name}", code="missing_function")
        arguments = dict(cast("JsonObject", effect.input))
        problems = action.check(arguments)
        if problems:
            raise EffectError(f"input of {name}: {'; '.join(problems)}", code="invalid_input")
        if action.wants_key:
            arguments["idempotency_key"] = effect.idempotency_key
        if action.secrets:
            arguments.update(await _resolve(action, context))
        return _json(name, await _call(action, arguments, context))


async def _resolve(action: FunctionAction, context: EffectContext) -> dict[str, str]:
    resolve = context.secrets.resolve
    return {name: await resolve(reference) for name, reference in action.secrets.items()}


def _json(name: str, result: object) -> JsonValue:
    """Return the result as it is if JSON can hold it."""
    value = cast("JsonValue", result)
    try:
        if len(canonical(value)) > OUTPUT_BYTES_MAX:
            message = f"{name} returned more than OUTPUT_BYTES_MAX = {OUTPUT_BYTES_MAX:,} bytes"
            raise EffectError(message, code="output_too_large")
    except (TypeError, ValueError) as error:
        raise EffectError(
            f"{name} returned what JSON cannot hold: {error}", code="not_json"
        ) from None
    return value


async def _call(action: FunctionAction, arguments: JsonObject, context: EffectContext) -> object:
    if action.place is not None:
        from agentctl.effects.processes.calling import call_in_process

        return await call_in_process(action.place, arguments, context)
    if action.is_async:
        return await cast("Awaitable[object]", action.call(**arguments))
    if action.runs_in == "loop":
        return action.call(**arguments)
    import asyncio  # late: compiling needs no event loop

    return await asyncio.to_thread(lambda: action.call(**arguments))
