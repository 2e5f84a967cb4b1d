"""A whole agent: who it is, what it is told, whom it hands over to, and what it may do.

Above: the renderers, the interchange document, the commands. Below: the readers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from attr import frozen

from agentctl.agentfiles.header import (
    boolean_of,
    read_front_matter,
    read_recipe,
    text_of,
    value_of,
)
from agentctl.agentfiles.readers import codex
from agentctl.agentfiles.reading import read_grants
from agentctl.text.nodes import Mapping, Refused, Sequence
from agentctl.value import Value

if TYPE_CHECKING:
    from agentctl.agentfiles.header import Head
    from agentctl.agentfiles.model import Format, Grant
    from agentctl.jsonvalue import JsonObject
    from agentctl.text.nodes import Node

# Keys that an agent has fields for; everything else is kept as it stands.
_FIELDS: Final = frozenset(
    {"name", "title", "description", "instructions", "developer_instructions", "model", "handoffs"}
)


@frozen(eq=False, repr=False)
class Handoff(Value):
    """To whom an agent may hand over, and what is said then."""

    to: str
    label: str = ""
    prompt: str = ""
    send: bool = False


@frozen(kw_only=True, eq=False, repr=False)
class AgentFile(Value):
    """An agent as its file describes it; `raw` holds the other keys as JSON values."""

    format: Format
    name: str
    description: str
    model: str | None
    instructions: str
    handoffs: tuple[Handoff, ...]
    grant: Grant
    raw: JsonObject


def read_agent(text: str, format: Format, *, slug: str = "agent") -> AgentFile:
    """Return an agent. Never raises for what the text says; `slug` is its name where none is."""
    grant = read_grants(text, format)
    try:
        if format == "codex":
            return _from_keys(codex.parse(text), grant, slug)
        if format == "agents-md":
            return _agent(grant, slug, body=text)
        head = read_recipe(text) if format == "goose" else read_front_matter(text)
    except Refused:
        return _agent(grant, slug)
    return _from_head(head, grant, slug)


def _agent(grant: Grant, slug: str, *, body: str = "") -> AgentFile:
    return AgentFile(
        format=grant.format, name=slug, description="", model=None, instructions=body,
        handoffs=(), grant=grant, raw={},
    )  # fmt: skip


def _from_head(head: Head, grant: Grant, slug: str) -> AgentFile:
    entries = head.root.entries
    body = head.body
    if grant.format == "goose":
        body = text_of(entries.get("instructions")) or text_of(entries.get("prompt")) or ""
    return AgentFile(
        format=grant.format,
        name=text_of(entries.get("name")) or text_of(entries.get("title")) or slug,
        description=text_of(entries.get("description")) or "",
        model=_model(entries.get("model")),
        instructions=body,
        handoffs=_handoffs(entries.get("handoffs")),
        grant=grant,
        raw={key: value_of(node) for key, node in entries.items() if key not in _FIELDS},
    )


def _model(node: Node | None) -> str | None:
    if isinstance(node, Sequence):
        return text_of(node.items[0]) if len(node.items) == 1 else None
    return text_of(node)


def _handoffs(node: Node | None) -> tuple[Handoff, ...]:
    items = node.items if isinstance(node, Sequence) else []
    found = [_handoff(one.entries) for one in items if isinstance(one, Mapping)]
    return tuple(one for one in found if one.to)


def _handoff(entries: dict[str, Node]) -> Handoff:
    return Handoff(
        to=text_of(entries.get("agent")) or "",
        label=text_of(entries.get("label")) or "",
        prompt=text_of(entries.get("prompt")) or "",
        send=boolean_of(entries.get("send")) or False,
    )


def _from_keys(keys: dict[str, Any], grant: Grant, slug: str) -> AgentFile:
    def text(key: str) -> str:
        value = keys.get(key)
        return value if isinstance(value, str) else ""

    kept = {key: _plain(value) for key, value in keys.items() if key not in _FIELDS}
    return AgentFile(
        format=grant.format,
        name=text("name") or slug,
        description=text("description"),
        model=text("model") or None,
        instructions=text("developer_instructions"),
        handoffs=(),
        grant=grant,
        raw=kept,
    )


def _plain(value: Any) -> Any:
    """Return a TOML value as JSON; dates become text. The value is whatever TOML holds."""
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_plain(one) for one in value]
    return value if isinstance(value, str | int | bool) or value is None else str(value)
