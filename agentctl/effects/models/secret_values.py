"""Secret values on their way to a model: put in when a request is sent, and nowhere else.

Above: the executors of models. Below: the run's secrets. The ledger and every later request hold
a placeholder where `read_secret_value` was answered; the value is looked up by the name that the
call gave, in what the policy lists, each time that a request goes out.
Source: the semantic tool specification, "Behaviour that tests rely on".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from agentctl.jsonvalue import canonical, parse_json

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentctl.engine.ports import EffectContext
    from agentctl.jsonvalue import JsonObject, JsonValue

_TOOL: Final = "read_secret_value"


async def with_secret_values(request: JsonObject, context: EffectContext) -> JsonObject:
    """Return a request in which the model finds the values that it asked for. Raises SecretMissing.

    A tool of the document's own that has the same name is not the catalog's.
    """
    definitions = context.definitions
    told = cast("list[str]", request["tools"])
    if _TOOL not in told or _TOOL in cast("JsonObject", definitions.get("tools") or {}):
        return request
    names = dict(_asked(cast("list[JsonObject]", request["messages"])))
    messages: list[JsonValue] = []
    for message in cast("list[JsonObject]", request["messages"]):
        name = names.get(str(message.get("toolCallId")))
        messages.append(message if name is None else await _revealed(message, name, context))
    return {**request, "messages": messages}


def _asked(messages: list[JsonObject]) -> Iterator[tuple[str, str]]:
    """Yield the id of every call for a value, with the name that it gave."""
    for message in messages:
        for call in cast("list[JsonObject]", message.get("toolCalls") or []):
            if call["name"] == _TOOL:
                arguments = cast("JsonObject", call["arguments"])
                yield str(call["id"]), str(arguments.get("name"))


async def _revealed(message: JsonObject, name: str, context: EffectContext) -> JsonObject:
    """Return an answer with its value; a refusal stays as it is."""
    answer = cast("JsonObject", parse_json(cast("str", message["content"])))
    policy = cast("JsonObject", context.definitions["policy"])
    catalog = cast("JsonObject", policy.get("catalog") or {})
    reference = cast("dict[str, JsonObject]", catalog.get("secrets") or {}).get(name)
    if not answer["ok"] or reference is None:
        return message
    value: JsonObject = {"name": name, "value": await context.secrets.resolve(reference)}
    return {**message, "content": canonical({**answer, "value": value})}
