"""The process in which one registered function is called: JSON in, JSON out.

Started by `calling.py`. What the function prints goes to standard error. An exception means what
it means to a function that is called in a thread.
"""

from __future__ import annotations

import asyncio
import importlib
import inspect
import json
import os
import runpy
import sys
from typing import TYPE_CHECKING, cast

from agentctl.errors import AgentctlError, EffectError

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentctl.jsonvalue import JsonObject, JsonValue

# A script that is loaded for one of its functions is not being run, as for multiprocessing.
_SCRIPT_NAME = "__mp_main__"


def main() -> None:
    """Call the function that standard input names, and print what it returned."""
    request = json.loads(sys.stdin.buffer.read())
    answers = os.dup(1)
    os.dup2(2, 1)
    answer = _answer(request)
    with os.fdopen(answers, "wb") as file:
        file.write(json.dumps(answer).encode())


def _answer(request: JsonObject) -> JsonObject:
    try:
        call = _find(request)
        result = call(**cast("JsonObject", request["arguments"]))
        if inspect.isawaitable(result):
            result = asyncio.run(_awaited(result))
    except Exception as error:  # noqa: BLE001 - whatever it was, the ledger must say so
        return {"error": _told(error)}
    try:
        json.dumps(result, allow_nan=False)
    except (TypeError, ValueError) as error:
        message = f"{request['name']} returned what JSON cannot hold: {error}"
        return {"error": _told(EffectError(message, code="not_json"))}
    return {"value": cast("JsonValue", result)}


async def _awaited(result: object) -> object:
    return await result  # type: ignore[misc]


def _find(request: JsonObject) -> Callable[..., object]:
    script = request.get("script")
    if isinstance(script, str):
        found: object = runpy.run_path(script, run_name=_SCRIPT_NAME)
        parts = cast("str", request["name"]).split(".")
        found = cast("dict[str, object]", found)[parts.pop(0)]
    else:
        found = importlib.import_module(cast("str", request["module"]))
        parts = cast("str", request["name"]).split(".")
    for part in parts:
        found = getattr(found, part)
    return cast("Callable[..., object]", found)


def _told(error: Exception) -> JsonObject:
    if isinstance(error, EffectError):
        return {
            "message": error.message,
            "code": error.kind,
            "retryable": error.retryable,
            "ambiguous": error.ambiguous,
            "detail": error.detail,
        }
    if isinstance(error, AgentctlError):
        return _plain(error.message, error.code)
    told = _plain(f"{type(error).__name__}: {error}", "executor_error")
    return {**told, "retryable": True, "ambiguous": isinstance(error, OSError | EOFError)}


def _plain(message: str, code: str) -> JsonObject:
    return {
        "message": message,
        "code": code,
        "retryable": False,
        "ambiguous": False,
        "detail": None,
    }


if __name__ == "__main__":
    main()
