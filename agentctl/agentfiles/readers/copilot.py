"""GitHub Copilot and VS Code custom agents: `.github/agents/*.md`, `*.agent.md`, `.chatmode.md`.

Above: `reading`. Below: what the readers share. Names are compared without case; no list, or
`*`, is every tool; an empty list is none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agentctl.agentfiles.header import at, text_of
from agentctl.agentfiles.model import ALL, Token
from agentctl.agentfiles.names import CLAUDE_ALL, COPILOT, COPILOT_SETS
from agentctl.agentfiles.powers import whole
from agentctl.agentfiles.readers.common import (
    report_keys,
    take_named,
    take_servers,
    unknown,
    written,
)
from agentctl.text.nodes import Mapping, Sequence

if TYPE_CHECKING:
    from agentctl.agentfiles.header import Head
    from agentctl.agentfiles.model import Draft, Grant
    from agentctl.agentfiles.readers.common import Written

KEYS: Final = (
    "name", "description", "target", "tools", "agents", "model", "user-invocable",
    "disable-model-invocation", "infer", "mcp-servers", "metadata", "argument-hint", "handoffs",
    "hooks",
)  # fmt: skip


def read(head: Head, draft: Draft) -> Grant:
    """Return the grant of a custom agent."""
    report_keys(draft, head, KEYS)
    _take_keys(head, draft)
    node = head.get("tools")
    if node is None:
        return draft.inherits("no tools are listed, so the agent has all", head.place("tools"))
    if isinstance(node, Sequence) and not node.items:
        return draft.finish("none")
    names = written(head, node)
    if names is None:
        return draft.unreadable("tools is neither a list nor a comma text", head.place("tools"))
    if not names:
        return draft.unreadable("tools is an empty text", head.place("tools"), "write []")
    for one in names:
        draft.take(_token(draft, one))
    _close_empty_roster(head, draft)
    return draft.finish("listed")


def _take_keys(head: Head, draft: Draft) -> None:
    take_named(draft, head, "agents", "agents")
    take_servers(draft, head, "mcp-servers")
    if head.get("hooks") is not None:
        draft.take(Token("hooks", *head.place("hooks"), (), ("hooks",)))
    node = head.get("handoffs")
    for item in node.items if isinstance(node, Sequence) else []:
        named = item.entries.get("agent") if isinstance(item, Mapping) else None
        target = text_of(named)
        if named is not None and target:
            draft.take(Token(target, *at(named), (), (f"handoff:{target}",)))
        else:
            draft.note("doubtful", "a handoff names no agent", at(item))


def _close_empty_roster(head: Head, draft: Draft) -> None:
    """Take dispatch from the lower bound: an empty roster leaves nobody to start."""
    node = head.get("agents")
    if isinstance(node, Sequence) and not node.items:
        draft.lower -= whole(("agent",))


def _token(draft: Draft, one: Written) -> Token:
    name = one.text.lower()
    if name == "*":
        return Token(one.text, *one.place, CLAUDE_ALL, (ALL,))
    meaning = COPILOT.get(name)
    if meaning is not None:
        return Token(one.text, *one.place, *meaning)
    server, slash, tool = one.text.partition("/")
    if slash and server and tool and server.lower() not in COPILOT_SETS:
        return Token(one.text, *one.place, (), (f"mcp:{server}/{tool}",))
    if tool == "*" and server.lower() in COPILOT:
        return Token(one.text, *one.place, *COPILOT[server.lower()])
    return unknown(draft, one, COPILOT)
