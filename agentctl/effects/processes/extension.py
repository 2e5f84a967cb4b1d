"""`extension.process`: a program of the user's that speaks one small JSON protocol.

Above: the registry. Below: two bounded runs. The first asks the program what it is, and any
difference from the declaration is a definite failure, because nothing was asked of it yet. The
second hands over the input; from there on any failure leaves doubt, unless the action is
declared idempotent. Source: specification, section 6 (extension.process v1).
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final, cast

from agentctl.effects.processes.container import require_container
from agentctl.effects.processes.output import last_line, refuse_overflow, seen
from agentctl.effects.processes.preparing import prepare
from agentctl.effects.processes.running import run_bounded
from agentctl.effects.processes.shell import run_observed
from agentctl.errors import EffectError
from agentctl.jsonvalue import canonical

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentctl.effects.processes.command import Command
    from agentctl.effects.processes.running import Finished
    from agentctl.engine.ports import EffectContext, EffectRequest
    from agentctl.engine.records import EffectRecord
    from agentctl.jsonvalue import JsonObject, JsonValue

PROTOCOL: Final = "agentctl.dev/process-extension/v1"
_HANDSHAKE: Final = ("protocolVersion", "name", "inputSchema", "outputSchema", "capabilities")
_ANSWER: Final = ("protocolVersion", "effectId", "output")


class ProcessExtension:
    """Checks a program against its declaration, then invokes it once."""

    def preflight(self, request: EffectRequest, definitions: JsonObject) -> None:
        """Refuse a container that this machine cannot give."""
        require_container(request, definitions)

    async def execute(self, effect: EffectRecord, context: EffectContext) -> JsonValue:
        """Return the extension's output object."""
        asked = cast("JsonObject", effect.input)
        await _shake_hands(await prepare(effect, context, more=["--agentctl-handshake"]), asked)
        call: JsonObject = {
            "protocolVersion": PROTOCOL,
            "effectId": effect.id,
            "input": asked["input"],
        }
        stdin = (json.dumps(call, ensure_ascii=False) + "\n").encode("utf-8", "surrogatepass")
        command = await prepare(effect, context, stdin=stdin, more=["--agentctl-invoke"])
        return await _invoke(command, effect, context)


async def _shake_hands(command: Command, asked: JsonObject) -> None:
    """Raise EffectError, always definite, unless the program is what the action declares."""
    try:
        finished = await run_bounded(command)
        refuse_overflow(finished, command.limits)
        told = _object(finished, _HANDSHAKE, "handshake")
    except EffectError as error:
        raise _mismatch(error.message, error.detail) from None
    declared = {key: asked[key] for key in _HANDSHAKE if key in asked}
    wrong = [key for key, value in declared.items() if canonical(told[key]) != canonical(value)]
    if not isinstance(told["name"], str):
        wrong.append("name")
    if wrong:
        differences = "; ".join(
            f"{key} is {canonical(told[key])[:200]}"
            + (f", declared is {canonical(declared[key])[:200]}" if key in declared else "")
            for key in wrong
        )
        raise _mismatch(f"the program differs from its declaration: {differences}", None)


async def _invoke(command: Command, effect: EffectRecord, context: EffectContext) -> JsonValue:
    try:
        finished = await run_observed(command, context)
        refuse_overflow(finished, command.limits)
        answer = _object(finished, _ANSWER, "answer")
        _check_answer(answer, effect, context)
    except EffectError as error:
        if error.kind == "process_missing":
            raise
        raise EffectError(
            error.message,
            code=error.kind,
            retryable=True,
            ambiguous=True,
            detail=error.detail,
        ) from None
    return answer["output"]


def _check_answer(answer: JsonObject, effect: EffectRecord, context: EffectContext) -> None:
    if answer["protocolVersion"] != PROTOCOL:
        raise _malformed(f"protocolVersion is {answer['protocolVersion']!r}, not {PROTOCOL!r}")
    if answer["effectId"] != effect.id:
        raise _malformed("effectId is not the one that was asked")
    if not isinstance(answer["output"], dict):
        raise _malformed("output is not an object")
    check = cast("Callable[[JsonValue], list[str]]", context.hints["check"])
    problems = check(answer["output"])
    if problems:
        raise EffectError(
            f"the output does not fit outputSchema: {'; '.join(problems)}",
            code="schema_violation",
        )


def _object(finished: Finished, keys: tuple[str, ...], what: str) -> JsonObject:
    """Return the one JSON object that the program printed, with exactly these members."""
    if finished.exit_code != 0:
        said = last_line(finished.stderr)
        message = f"the extension ended its {what} with exit code {finished.exit_code}"
        raise EffectError(
            f"{message}: {said}" if said else message,
            code="process_failed",
            detail=seen(finished),
        )
    try:
        value = json.loads(finished.stdout.decode("utf-8"), parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise _malformed(f"its {what} is not one JSON object: {error}", seen(finished)) from None
    if not isinstance(value, dict):
        raise _malformed(f"its {what} is not one JSON object", seen(finished))
    missing = [key for key in keys if key not in value]
    extra = [key for key in value if key not in keys]
    if missing or extra:
        parts = [f"{key} is missing" for key in missing] + [f"{key} is unknown" for key in extra]
        raise _malformed(f"its {what}: {', '.join(parts)}", seen(finished))
    return value


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON value")


def _malformed(message: str, detail: JsonValue = None) -> EffectError:
    return EffectError(message, code="extension_malformed", detail=detail)


def _mismatch(message: str, detail: JsonValue) -> EffectError:
    return EffectError(message, code="extension_mismatch", detail=detail)
