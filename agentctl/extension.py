"""A kit for extension programs: what `extension.process` starts, in a few lines of Python.

    from agentctl.extension import serve

    def shout(given, call):
        return {"text": given["text"].upper()}

    serve(shout, name="shout", input_schema={…}, output_schema={…}, capabilities=["text"])

It needs nothing but the standard library, so that a program starts fast. What the function prints
goes to standard error; an exception ends the program with exit code 1 and its message there.
Source: specification, section 6 (extension.process v1).
"""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, Final, TypeAlias

from attr import frozen

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from agentctl.jsonvalue import JsonValue

JsonObject: TypeAlias = "dict[str, JsonValue]"
PROTOCOL: Final = "agentctl.dev/process-extension/v1"
_USAGE: Final = "this is an agentctl extension: give --agentctl-handshake or --agentctl-invoke"


@frozen(kw_only=True)
class Call:
    """Which effect an invocation performs.

    `idempotency_key` stays the same when the effect is tried again: hand it to an outside system
    that can tell by it that two calls are one.
    """

    effect_id: str
    idempotency_key: str


Handler: TypeAlias = "Callable[[JsonObject, Call], JsonObject]"


def serve(
    handler: Handler,
    *,
    name: str,
    input_schema: JsonValue,
    output_schema: JsonValue,
    capabilities: Sequence[str] = (),
    arguments: Sequence[str] | None = None,
) -> None:
    """Answer the one thing that this program was started for, and leave.

    Schemas and capabilities must equal those of the action, in the same order. `arguments`
    stands for the command line in tests. Raises SystemExit.
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    if "--agentctl-handshake" in given:
        _print(
            {
                "protocolVersion": PROTOCOL,
                "name": name,
                "inputSchema": input_schema,
                "outputSchema": output_schema,
                "capabilities": [*capabilities],
            }
        )
    elif "--agentctl-invoke" in given:
        _invoke(handler)
    else:
        raise SystemExit(_USAGE)
    raise SystemExit(0)


def _invoke(handler: Handler) -> None:
    request = json.loads(sys.stdin.buffer.read())
    if request["protocolVersion"] != PROTOCOL:
        raise SystemExit(f"cannot speak {request['protocolVersion']}, only {PROTOCOL}")
    key = os.environ.get("AGENTCTL_IDEMPOTENCY_KEY", "")
    call = Call(effect_id=request["effectId"], idempotency_key=key)
    answers = _keep_output_clean()
    try:
        output = handler(request["input"], call)
    except Exception as error:
        raise SystemExit(f"{type(error).__name__}: {error}") from error
    answer: JsonObject = {
        "protocolVersion": PROTOCOL,
        "effectId": call.effect_id,
        "output": output,
    }
    with os.fdopen(answers, "wb") as file:
        file.write(json.dumps(answer).encode() + b"\n")


def _keep_output_clean() -> int:
    """Send what anyone prints to standard error; return a descriptor of the real output."""
    sys.stdout.flush()
    answers = os.dup(1)
    os.dup2(2, 1)
    return answers


def _print(message: JsonObject) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()
