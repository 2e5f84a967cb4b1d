"""What every kind of provider can do: the one table behind `check`, the adapters and the pages.

Above: the compiler, which refuses what is not here; the adapters, which do what is; the command
line and the generated pages. Below: nothing.
Source: specification, section 15; the providers' public API references.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from attr import field, frozen

from agentctl.value import Value

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentctl.jsonvalue import JsonValue

OPTION_TYPES: Final[Mapping[str, str]] = {
    "finalText": "text",
    "toolName": "text",
    "toolCalls": "calls",
    "delayMs": "count",
    "failFirst": "count",
    "store": "boolean",
    "parallelToolCalls": "boolean",
    "safetyIdentifier": "text",
}
"""The type of an option's value, where any of that type will do."""


@frozen(kw_only=True, eq=False, repr=False)
class ProviderFacts(Value):
    """What one kind of provider can do, and where it is by default.

    `options` are the allowed `providerOptions`, `choices` the values that some of them may
    have. `modes` are the values of `reasoning.mode`, the first is meant when none is given;
    `thinking_tokens_min` is what a mode with a budget of its own needs below `maxOutputTokens`.
    The texts say how a feature is mapped; an empty one says that there is none.
    """

    kind: str
    protocol: str
    options: frozenset[str] = frozenset()
    choices: Mapping[str, tuple[str, ...]] = field(factory=dict)
    tools: str = ""
    structured_output: str = ""
    reasoning: str = ""
    efforts: tuple[str, ...] = ()
    modes: tuple[str, ...] = ()
    thinking_tokens_min: Mapping[str, int] = field(factory=dict)
    continuation: str = ""
    streaming: str = ""
    endpoint: str = ""
    credential: str = ""

    @property
    def is_remote(self) -> bool:
        """Whether it is reached over the network."""
        return self.kind != "fake"

    def features(self) -> dict[str, JsonValue]:
        """Return how each feature is mapped, by its name; None where there is none."""
        told = {
            "tools": self.tools,
            "structuredOutput": self.structured_output,
            "reasoning": self.reasoning,
            "continuation": self.continuation,
            "streaming": self.streaming,
        }
        return {name: text or None for name, text in told.items()}


_EFFORTS: Final = ("none", "low", "medium", "high", "xhigh", "max")
_CACHE_CHOICES: Final = {
    "promptCacheMode": ("implicit", "explicit"),
    "promptCacheTtl": ("30m",),
    "reasoningContext": ("auto", "current_turn", "all_turns"),
}
_OPENAI_OPTIONS: Final = frozenset(
    {
        "store",
        "reasoningContext",
        "promptCacheMode",
        "promptCacheTtl",
        "parallelToolCalls",
        "safetyIdentifier",
    }
)


def _openai(kind: str, protocol: str, endpoint: str, credential: str) -> ProviderFacts:
    return ProviderFacts(
        kind=kind,
        protocol=protocol,
        options=_OPENAI_OPTIONS,
        choices=_CACHE_CHOICES,
        tools="function tools, strict where the schema is closed",
        structured_output="native response format",
        reasoning="effort, mode and context as given",
        efforts=_EFFORTS,
        modes=("standard", "pro"),
        continuation="stored response; with `store: false` the answer's items are replayed",
        streaming="server-sent events",
        endpoint=endpoint,
        credential=credential,
    )


PROVIDERS: Final[Mapping[str, ProviderFacts]] = {
    one.kind: one
    for one in (
        ProviderFacts(
            kind="fake",
            protocol="none; answers from `providerOptions`",
            options=frozenset(
                {"finalText", "toolInput", "toolName", "toolCalls", "delayMs", "failFirst"}
            ),
            tools="scripted calls",
            structured_output="scripted text",
            continuation="scripted",
            streaming="in three pieces",
        ),
        _openai(
            "openai", "OpenAI Responses", "https://api.openai.com", credential="OPENAI_API_KEY"
        ),
        _openai("azure_openai", "Azure OpenAI Responses", "", credential="AZURE_OPENAI_API_KEY"),
        ProviderFacts(
            kind="anthropic",
            protocol="Anthropic Messages",
            tools="tool blocks",
            structured_output="instruction; one code fence around the answer is taken off",
            reasoning="`adaptive` gives the effort; `budget` a share of `maxOutputTokens`",
            efforts=_EFFORTS,
            modes=("adaptive", "budget"),
            thinking_tokens_min={"budget": 1024},
            continuation="signed thinking blocks are replayed",
            streaming="server-sent events",
            endpoint="https://api.anthropic.com",
            credential="ANTHROPIC_API_KEY",
        ),
        ProviderFacts(
            kind="google",
            protocol="Gemini generateContent",
            tools="function calls",
            structured_output="native response schema",
            reasoning="`level` gives the effort; `budget` a share of `maxOutputTokens`",
            efforts=("none", "low", "medium", "high"),
            modes=("level", "budget"),
            thinking_tokens_min={"budget": 0},
            continuation="signed thoughts are replayed",
            streaming="server-sent events",
            endpoint="https://generativelanguage.googleapis.com",
            credential="GEMINI_API_KEY",
        ),
        ProviderFacts(
            kind="openai_compatible",
            protocol="chat completions",
            options=frozenset({"parallelToolCalls"}),
            tools="function tools, strict where the schema is closed",
            structured_output="native response format",
            reasoning="effort as given",
            efforts=_EFFORTS,
            continuation="none needed",
            streaming="server-sent events",
        ),
    )
}
