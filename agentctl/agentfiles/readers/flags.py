"""Hosts without a list of tools, and one with categories: Cursor, Factory, AGENTS.md.

Above: `reading`. Below: what the readers share.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agentctl.agentfiles.header import boolean_of, text_of
from agentctl.agentfiles.model import Token
from agentctl.agentfiles.names import FACTORY, FACTORY_CATEGORIES
from agentctl.agentfiles.readers.common import report_keys, unknown, written

if TYPE_CHECKING:
    from agentctl.agentfiles.header import Head
    from agentctl.agentfiles.model import Draft, Grant
    from agentctl.agentfiles.readers.common import Written

CURSOR_KEYS: Final = ("name", "description", "model", "readonly", "is_background")
FACTORY_KEYS: Final = ("name", "description", "model", "tools", "reasoningEffort")


def read_cursor(head: Head, draft: Draft) -> Grant:
    """Return the grant of `.cursor/agents/*.md`: one flag, or all that the parent has."""
    report_keys(draft, head, CURSOR_KEYS)
    node = head.get("readonly")
    if node is None:
        return draft.inherits("readonly is not set: the parent's tools", head.place("readonly"))
    flag = boolean_of(node)
    if flag is None:
        return draft.unreadable("readonly is neither true nor false", head.place("readonly"))
    if not flag:
        return draft.inherits("readonly is false: the parent's tools", head.place("readonly"))
    place = head.place("readonly")
    draft.take(Token("readonly: true", *place, ("read", "search"), ("no-write",)))
    draft.limit("no-write")
    return draft.finish("listed")


def read_factory(head: Head, draft: Draft) -> Grant:
    """Return the grant of `.factory/droids/*.md`: a list of names, or a category."""
    report_keys(draft, head, FACTORY_KEYS)
    node = head.get("tools")
    if node is None:
        return draft.inherits("no tools are listed, so the agent has all", head.place("tools"))
    names = written(head, node)
    if names is None:
        return draft.unreadable("tools is neither a list nor a category", head.place("tools"))
    if not names:
        help = "list the tools; what this host does with an empty list is not documented"
        return draft.unreadable("tools is empty", head.place("tools"), help)
    is_category = text_of(node) is not None
    for one in names:
        draft.take(_factory_token(draft, one, is_category=is_category))
    return draft.finish("listed")


def _factory_token(draft: Draft, one: Written, *, is_category: bool) -> Token:
    table = FACTORY_CATEGORIES if is_category else FACTORY
    meaning = table.get(one.text)
    if meaning is None:
        return unknown(draft, one, table)
    return Token(one.text, *one.place, *meaning)


def read_agents_md(draft: Draft) -> Grant:
    """Return the grant of AGENTS.md: it has instructions only, so every tool is inherited."""
    return draft.inherits("this format has no place for tools", (1, 1))
