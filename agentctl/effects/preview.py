"""Executors of check mode: reads are real, writes are answered from memory, the rest is refused.

Above: the door's `preview`, and the CLI, which shows a person what a write would change. A read
after a previewed write sees the previewed text.
Source: specification, section 15 (check mode).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from agentctl.effects.files import Echo, ReadFile, ReadFileTool, preview_write, text_record
from agentctl.effects.secrets import Secrets
from agentctl.engine.ports import EffectContext
from agentctl.errors import EffectError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agentctl.engine.ports import Executor
    from agentctl.engine.records import EffectRecord
    from agentctl.jsonvalue import JsonObject, JsonValue

UNPREDICTABLE = "requires_execution"


class PreviewWrite:
    """Answers a write with its diff, and remembers the text for later reads."""

    def __init__(self, written: dict[str, str]) -> None:
        self._written = written

    async def execute(self, effect: EffectRecord, context: EffectContext) -> JsonValue:
        """Return the record that the write would give."""
        request = cast("JsonObject", effect.input)
        path, content = str(request.get("path")), str(request.get("content"))
        answer = preview_write(context, path, content, self._written.get(path))
        self._written[path] = content
        return answer


class PreviewRead:
    """Reads a previewed text if there is one, else the real file."""

    def __init__(self, written: dict[str, str], real: Executor) -> None:
        self._written = written
        self._real = real

    async def execute(self, effect: EffectRecord, context: EffectContext) -> JsonValue:
        """Return the record that the read would give."""
        path = str(cast("JsonObject", effect.input).get("path"))
        if path in self._written:
            return text_record(path, self._written[path])
        return await self._real.execute(effect, context)


class Unpredictable:
    """Refuses what only execution could tell."""

    async def execute(self, effect: EffectRecord, context: EffectContext) -> JsonValue:
        """Raise the definite error that check mode reports as `requires_execution`."""
        del context
        raise EffectError(f"{effect.operation} is not executed in check mode", code=UNPREDICTABLE)


def preview_executors(operations: Iterable[str]) -> dict[str, Executor]:
    """Return the check-mode executor of every operation."""
    written: dict[str, str] = {}
    known: dict[str, Executor] = {
        "builtin.read": PreviewRead(written, ReadFile()),
        "builtin.workspace.read": ReadFileTool(),
        "builtin.write": PreviewWrite(written),
        "builtin.echo": Echo(),
    }
    refuse = Unpredictable()
    return {operation: known.get(operation, refuse) for operation in operations}


def preview_of_write(request: JsonObject, workspace: str, definitions: JsonObject) -> JsonObject:
    """Return what a write would change, for the person who is asked about it.

    `{changed, before, after, diff}`, or `{problem}` when the write would be refused.
    """
    context = EffectContext(
        workspace=workspace,
        definitions=definitions,
        hints={},
        emit=_say_nothing,
        artifacts=_None(),
        secrets=Secrets(cast("JsonObject", definitions["policy"]), workspace),
    )
    path, content = request.get("path"), request.get("content")
    if not isinstance(path, str) or not isinstance(content, str):
        return {"problem": "it names no path and text"}
    try:
        found = preview_write(context, path, content, None)
    except EffectError as error:
        return {"problem": error.message}
    return {key: found[key] for key in ("changed", "before", "after", "diff")}


class _None:
    """Keeps nothing, since nothing happens."""

    def keep(self, data: bytes, logical_path: str, media_type: str | None = None) -> str:
        """Return no digest."""
        del data, logical_path, media_type
        return ""


async def _say_nothing(
    event_type: str, payload: JsonValue, provider_sequence: int | None = None
) -> None:
    del event_type, payload, provider_sequence
