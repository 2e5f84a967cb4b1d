"""Gemini CLI subagents: `.gemini/agents/*.md`.

Above: `reading`. Below: what the readers share. A file with an unknown key or tool, or with a
text instead of a list, does not load; no subagent may start another.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from agentctl.agentfiles.header import text_of
from agentctl.agentfiles.model import ALL, Token
from agentctl.agentfiles.names import GEMINI, GEMINI_ALL
from agentctl.agentfiles.readers.common import report_keys, take_servers, unknown, written
from agentctl.text.nodes import Sequence

if TYPE_CHECKING:
    from agentctl.agentfiles.header import Head
    from agentctl.agentfiles.model import Draft, Grant
    from agentctl.agentfiles.readers.common import Written

KEYS: Final = (
    "name", "description", "kind", "tools", "mcpServers", "model", "temperature", "max_turns",
    "timeout_mins",
)  # fmt: skip
_NAME = re.compile(r"[a-z0-9_-]+")


def read(head: Head, draft: Draft) -> Grant:
    """Return the grant of a subagent."""
    if report_keys(draft, head, KEYS):
        place = draft.problems[0].line, draft.problems[0].column
        return draft.unreadable("a file with an unknown key does not load", place)
    for key in ("name", "description"):
        if text_of(head.get(key)) is None:
            return draft.unreadable(f"{key} is missing, so the file does not load", (1, 1))
    if not _NAME.fullmatch(text_of(head.get("name")) or ""):
        return draft.unreadable("name may hold a-z, 0-9, _ and - only", head.place("name"))
    take_servers(draft, head, "mcpServers")
    return _read_tools(head, draft)


def _read_tools(head: Head, draft: Draft) -> Grant:
    node = head.get("tools")
    if node is None:
        return draft.inherits("no tools are listed, so the agent has all", head.place("tools"))
    names = written(head, node) if isinstance(node, Sequence) else None
    if names is None:
        return draft.unreadable("tools is not a list of names", head.place("tools"))
    if not names:
        help = "list the tools; what this host does with an empty list is not documented"
        return draft.unreadable("tools is empty", head.place("tools"), help)
    for one in names:
        draft.take(_token(draft, one))
    strange = next((one for one in draft.tokens if not one.is_known), None)
    if strange is not None:
        place = strange.line, strange.column
        return draft.unreadable("a file with an unknown tool does not load", place)
    return draft.finish("listed")


def _token(draft: Draft, one: Written) -> Token:
    name = one.text
    if name == "*":
        return Token(name, *one.place, GEMINI_ALL, (ALL,))
    meaning = GEMINI.get(name)
    if meaning is not None:
        return Token(name, *one.place, *meaning)
    if name == "mcp_*":
        return Token(name, *one.place, (), ("mcp:*",))
    server, _, tool = name.removeprefix("mcp_").partition("_")
    if name.startswith("mcp_") and server and tool:
        if "_" in tool:
            draft.note("doubtful", f"where the server's name ends in {name!r} is open", one.place)
        return Token(name, *one.place, (), (f"mcp:{server}/{tool}",))
    return unknown(draft, one, GEMINI)
