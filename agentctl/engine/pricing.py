"""What model requests cost by a workflow's own price table, in millionths of a dollar.

Above: budgets and agents' usage limits. Below: nothing but the plan's JSON. Amounts are rounded
up, so that a budget is never passed by fractions.
Source: specification, sections 1.2 and 11.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from attr import frozen

from agentctl.value import Value

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentctl.jsonvalue import JsonObject

PER_TOKENS = 1_000_000
_INPUT = "inputMicrousdPerMillionTokens"
_OUTPUT = "outputMicrousdPerMillionTokens"
_REASONING = "reasoningMicrousdPerMillionTokens"
_CACHE_READ = "cacheReadMicrousdPerMillionTokens"
_CACHE_WRITE = "cacheWriteMicrousdPerMillionTokens"


@frozen(eq=False, repr=False)
class Prices(Value):
    """A price table, and the kinds of the providers that its names may use instead."""

    models: Mapping[str, JsonObject]
    kinds: Mapping[str, str]

    @classmethod
    def of(cls, definitions: JsonObject) -> Prices:
        """Return the prices of a plan's definitions."""
        pricing = cast("JsonObject", definitions.get("pricing") or {})
        providers = cast("dict[str, JsonObject]", definitions.get("providers") or {})
        return cls(
            cast("dict[str, JsonObject]", pricing.get("models") or {}),
            {name: str(one["kind"]) for name, one in providers.items()},
        )

    def most(self, request: JsonObject, input_tokens: int, output_tokens: int) -> int:
        """Return the cost at the highest rates that could apply; 0 without a price."""
        price = self._price(request)
        if price is None:
            return 0
        given = max(_rate(price, name, _INPUT) for name in (_INPUT, _CACHE_READ, _CACHE_WRITE))
        made = max(_rate(price, name, _OUTPUT) for name in (_OUTPUT, _REASONING))
        return _rounded_up(input_tokens * given + output_tokens * made)

    def of_usage(self, request: JsonObject, usage: JsonObject) -> int:
        """Return what a request cost: the provider's own figure, or the table's."""
        told = usage.get("costMicrousd")
        if isinstance(told, int):
            return told
        price = self._price(request)
        if price is None:
            return 0
        read, written = _tokens(usage, "cacheReadTokens"), _tokens(usage, "cacheWriteTokens")
        thought = _tokens(usage, "reasoningTokens")
        plain = max(_tokens(usage, "inputTokens") - read - written, 0)
        said = max(_tokens(usage, "outputTokens") - thought, 0)
        return _rounded_up(
            plain * _rate(price, _INPUT, _INPUT)
            + read * _rate(price, _CACHE_READ, _INPUT)
            + written * _rate(price, _CACHE_WRITE, _INPUT)
            + said * _rate(price, _OUTPUT, _OUTPUT)
            + thought * _rate(price, _REASONING, _OUTPUT)
        )

    def _price(self, request: JsonObject) -> JsonObject | None:
        provider, model = str(request.get("provider")), request.get("model")
        named = self.models.get(f"{provider}/{model}")
        return named or self.models.get(f"{self.kinds.get(provider)}/{model}")


def _rate(price: JsonObject, name: str, default: str) -> int:
    rate = price.get(name)
    return cast("int", price[default] if rate is None else rate)


def _tokens(usage: JsonObject, name: str) -> int:
    value = usage.get(name)
    return value if isinstance(value, int) else 0


def _rounded_up(amount: int) -> int:
    return -(-amount // PER_TOKENS)
