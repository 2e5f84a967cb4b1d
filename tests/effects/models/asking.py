"""Asks a real executor over a real connection, as the dispatcher does."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, cast

from attr import define, field, frozen

from agentctl.effects.models.anthropic import Anthropic
from agentctl.effects.models.azure_openai import AzureOpenAi
from agentctl.effects.models.executor import ModelExecutor
from agentctl.effects.models.google import Google
from agentctl.effects.models.openai import OpenAi
from agentctl.effects.models.openai_chat import OpenAiChat
from agentctl.effects.network import system_resolver
from agentctl.engine.ports import EffectContext
from agentctl.errors import EffectError

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentctl.effects.models.adapter import Adapter

ADAPTERS: dict[str, Adapter] = {
    one.facts.kind: one for one in (OpenAi(), AzureOpenAi(), Anthropic(), Google(), OpenAiChat())
}
KEY = "k-secret"
LOOK: dict[str, Any] = {
    "description": "Looks.",
    "inputSchema": {
        "type": "object",
        "properties": {"at": {"type": "string"}},
        "required": ["at"],
        "additionalProperties": False,
    },
}
SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}}
USER = {"role": "user", "content": "hello"}


def request(**more: Any) -> dict[str, Any]:
    """Return a request as the agent loop records it."""
    return {
        "provider": "p",
        "model": "m-1",
        "instructions": "Be brief.",
        "messages": [USER],
        "tools": [],
        "maxOutputTokens": 4096,
        **more,
    }


@define
class Keeper:
    """Secrets that are their own names."""

    async def resolve(self, reference: dict[str, Any]) -> str:
        """Return a value."""
        return cast("str", reference.get("value", KEY))


@frozen
class Recorded:
    """Stands for the ledger's record."""

    input: Any
    idempotency_key: str = "agentctl-key"


@define
class Asker:
    """One provider at one address."""

    kind: str
    url: str
    policy: dict[str, Any] = field(
        factory=lambda: {
            "networkAllowlist": ["127.0.0.1", "localhost", "model.example"],
            "network": {"allowPrivate": True},
        }
    )
    provider: dict[str, Any] = field(factory=lambda: {"credential": {"env": "KEY"}})
    resolver: Callable[..., Any] = system_resolver
    told: list[tuple[str, Any]] = field(factory=list)
    on_progress: Callable[[str], None] | None = None

    def ask(self, body: dict[str, Any]) -> Any:
        """Return the result of one call."""
        executor = ModelExecutor(ADAPTERS[self.kind], self.resolver)
        context = EffectContext(
            workspace=".",
            definitions={
                "providers": {"p": {"kind": self.kind, "endpoint": self.url, **self.provider}},
                "tools": {"look": LOOK, "odd name!": LOOK},
                "policy": self.policy,
            },
            hints={},
            emit=self._emit,
            artifacts=cast("Any", None),
            secrets=cast("Any", Keeper()),
        )
        return asyncio.run(executor.execute(cast("Any", Recorded(body)), context))

    def failure(self, body: dict[str, Any]) -> EffectError:
        """Return the error that a call ends with."""
        try:
            result = self.ask(body)
        except EffectError as error:
            return error
        raise AssertionError(f"it answered {result}")

    async def _emit(
        self, event_type: str, payload: Any, provider_sequence: int | None = None
    ) -> None:
        self.told.append((event_type, payload))
        if self.on_progress is not None:
            self.on_progress(event_type)
