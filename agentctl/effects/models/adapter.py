"""What an adapter is: two pure functions and a fold, one set for each protocol.

Above: the executor. Below: the contract. An adapter opens no connection, reads no clock and
keeps nothing between calls; so a test can hand it any JSON.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from attr import define, field, frozen

from agentctl.jsonvalue import canonical
from agentctl.value import Value

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from agentctl.effects.models.contract import ModelRequest, ModelResult
    from agentctl.effects.models.sse import ServerEvent
    from agentctl.jsonvalue import JsonObject, JsonValue
    from agentctl.providers import ProviderFacts

# What strict function schemas may be made of; any other word makes the whole schema loose.
_STRICT_WORDS = frozenset(
    {"type", "description", "title", "enum", "const", "properties", "required"}
    | {"additionalProperties", "items", "anyOf", "minimum", "maximum", "pattern"}
    | {"exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minItems", "maxItems"}
)


@frozen(kw_only=True, eq=False, repr=False)
class HttpCall(Value):
    """One POST, relative to the provider's endpoint; `headers` are without credentials."""

    path: str
    body: JsonObject
    query: str = ""
    headers: Mapping[str, str] = field(factory=dict)


@frozen(eq=False, repr=False)
class Progress(Value):
    """Something of a stream that a reader may see: a piece of text, or the start of a call."""

    event_type: str
    payload: JsonObject


class Fold(Protocol):
    """Turns the events of one stream into the body of the same answer without streaming."""

    def feed(self, event: ServerEvent) -> Iterator[Progress]:
        """Take one event. Raises EffectError for what the provider reports or gets wrong."""
        ...

    @property
    def is_complete(self) -> bool:
        """Whether the answer is whole; a stream that ends before was cut."""
        ...

    @property
    def is_over(self) -> bool:
        """Whether nothing more is to come, so that reading may stop."""
        ...

    def body(self) -> JsonObject:
        """Return the answer's body, as without streaming."""
        ...


class Adapter(Protocol):
    """One protocol."""

    @property
    def facts(self) -> ProviderFacts:
        """What it can do."""
        ...

    def call(self, request: ModelRequest, api_version: str | None) -> HttpCall:
        """Return what is sent. Raises EffectError where the request cannot be put."""
        ...

    def authentication(self, key: str) -> dict[str, str]:
        """Return the headers that carry the credential."""
        ...

    def result(self, body: JsonObject, request: ModelRequest) -> ModelResult:
        """Read an answer. Raises EffectError for what it reports or gets wrong."""
        ...

    def fold(self) -> Fold:
        """Return a fresh fold for one stream."""
        ...


@define(eq=False, repr=False)
class TextProgress:
    """Gathers pieces of text, so that a long answer makes a bounded number of records.

    A piece is as long as an eighth of what came before it: 1 MiB of text is about 90 records.
    """

    _waiting: list[str] = field(factory=list)
    _waiting_characters: int = 0
    _told_characters: int = 0

    def add(self, text: str) -> Iterator[Progress]:
        """Take a piece, and tell what is long enough."""
        self._waiting.append(text)
        self._waiting_characters += len(text)
        if self._waiting_characters >= max(32, self._told_characters // 8):
            yield from self.rest()

    def rest(self) -> Iterator[Progress]:
        """Tell what is left."""
        if self._waiting_characters:
            yield Progress("text.delta", {"text": "".join(self._waiting)})
            self._told_characters += self._waiting_characters
            self._waiting, self._waiting_characters = [], 0


def is_strict(schema: JsonValue) -> bool:
    """Return whether a schema is closed all the way down, so that strict mode takes it."""
    if not isinstance(schema, dict) or not schema.keys() <= _STRICT_WORDS:
        return False
    properties = schema.get("properties")
    if isinstance(properties, dict):
        required = schema.get("required")
        is_closed = schema.get("additionalProperties") is False
        if not is_closed or not isinstance(required, list):
            return False
        if {canonical(one) for one in required} != {canonical(one) for one in properties}:
            return False
    elif schema.get("type") == "object":
        return False
    inner: list[JsonValue] = [*properties.values()] if isinstance(properties, dict) else []
    if "items" in schema:
        inner.append(schema["items"])
    choices = schema.get("anyOf")
    if isinstance(choices, list):
        inner += choices
    return all(is_strict(one) for one in inner)


def share_of(effort: str | None, total: int) -> int:
    """Return the part of `maxOutputTokens` that may go into thinking."""
    eighths = {"low": 2, "medium": 4, "high": 5, "xhigh": 6, "max": 7}
    return total * eighths.get(effort or "medium", 4) // 8
