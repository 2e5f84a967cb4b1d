"""The visible tools as each provider takes them.

Above: the compiler, which puts them into a plan, the agent loop, which reads arguments back, and
the commands. Below: the descriptors and the dialects. Every
binding is a pure function of one array, so that all of them carry the same operations in the
same order. Adapters send what stands in the plan and render nothing themselves. Source: the semantic tool specification, "Bindings".
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, get_args

from agentctl.catalog.descriptor import READING
from agentctl.catalog.dialects import declared, read, strict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from agentctl.catalog.descriptor import Descriptor
    from agentctl.jsonvalue import JsonObject, JsonValue

    _Bind: TypeAlias = Callable[[Descriptor], JsonObject]

Provider = Literal["openai", "codex", "openai_compatible", "anthropic", "gemini", "mcp", "fake"]
PROVIDERS: Final[tuple[Provider, ...]] = get_args(Provider)
# What a workflow's provider is told, by its kind.
BINDING_OF_KIND: Final[Mapping[str, Provider]] = MappingProxyType(
    {
        "openai": "openai",
        "azure_openai": "openai",
        "openai_compatible": "openai_compatible",
        "anthropic": "anthropic",
        "google": "gemini",
        "fake": "fake",
    }
)
# These are asked in a subset of JSON Schema, so their answers have to be read back.
_IN_A_SUBSET: Final[tuple[Provider, ...]] = ("openai", "codex", "openai_compatible", "gemini")


def bind(provider: Provider, tools: Iterable[Descriptor]) -> list[JsonObject]:
    """Return one definition for each tool, in the order given."""
    make = _BINDINGS[provider]
    return [make(one) for one in tools]


def read_arguments(provider: Provider, tool: Descriptor, arguments: JsonValue) -> JsonValue:
    """Return the arguments of a provider's call as the tool's own schema has them.

    They are not yet held against that schema. Raises ValueError with every place that should
    hold JSON text and does not.
    """
    return read(arguments, tool.input_schema) if provider in _IN_A_SUBSET else arguments


def _function(tool: Descriptor) -> JsonObject:
    """Return a strict function tool of the Responses interface; Codex takes the same."""
    return {
        "type": "function",
        "name": tool.operation_id,
        "description": tool.description,
        "strict": True,
        "parameters": strict(tool.input_schema),
    }


def _chat_function(tool: Descriptor) -> JsonObject:
    """Return a strict function tool of chat completions, which keep it one level down."""
    function = {name: value for name, value in _function(tool).items() if name != "type"}
    return {"type": "function", "function": function}


def _anthropic(tool: Descriptor) -> JsonObject:
    return {
        "name": tool.operation_id,
        "description": tool.description,
        "input_schema": tool.input_schema,
    }


def _gemini(tool: Descriptor) -> JsonObject:
    """Return an entry of `functionDeclarations`, where an object needs at least one property."""
    made: JsonObject = {"name": tool.operation_id, "description": tool.description}
    if tool.input_schema["properties"]:
        made["parameters"] = declared(tool.input_schema)
    return made


def _mcp(tool: Descriptor) -> JsonObject:
    return {
        "name": tool.operation_id,
        "title": tool.title,
        "description": tool.description,
        "inputSchema": tool.input_schema,
        "outputSchema": tool.output_schema,
        "annotations": {"readOnlyHint": tool.side_effect_class in READING},
    }


def _fake(tool: Descriptor) -> JsonObject:
    return {
        "operationId": tool.operation_id,
        "description": tool.description,
        "inputSchema": tool.input_schema,
        "outputSchema": tool.output_schema,
    }


_BINDINGS: Final[Mapping[Provider, _Bind]] = MappingProxyType(
    {
        "openai": _function,
        "codex": _function,
        "openai_compatible": _chat_function,
        "anthropic": _anthropic,
        "gemini": _gemini,
        "mcp": _mcp,
        "fake": _fake,
    }
)
