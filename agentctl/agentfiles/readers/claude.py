"""Claude Code subagents: `.claude/agents/**/*.md`.

Above: `reading`. Below: what the readers share. Names are case-sensitive; a missing list inherits
every tool; the deny list is taken off first; a specifier does not narrow a subagent's tool.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from attr import evolve

from agentctl.agentfiles.header import text_of
from agentctl.agentfiles.model import ALL, Token
from agentctl.agentfiles.names import CLAUDE, CLAUDE_ALL
from agentctl.agentfiles.readers.common import (
    Written,
    mcp_of,
    report_keys,
    take_named,
    take_servers,
    unknown,
    written,
)

if TYPE_CHECKING:
    from agentctl.agentfiles.header import Head
    from agentctl.agentfiles.model import Draft, Grant

KEYS: Final = (
    "name", "description", "tools", "disallowedTools", "model", "permissionMode", "maxTurns",
    "skills", "mcpServers", "hooks", "memory", "background", "effort", "isolation", "color",
    "initialPrompt", "allowed-tools",
)  # fmt: skip
_SPECIFIER = re.compile(r"([A-Za-z]+)\((.*)\)", re.DOTALL)
_DISPATCH = frozenset({"Agent", "Task"})


def read(head: Head, draft: Draft) -> Grant:
    """Return the grant of a subagent."""
    report_keys(draft, head, KEYS)
    denied = _denied(head, draft)
    if denied is None:
        return draft.unreadable(
            "disallowedTools is neither a list of names nor a comma text",
            head.place("disallowedTools"),
        )
    _take_keys(head, draft)
    node = head.get("tools")
    if node is None:
        return draft.inherits("no tools are listed, so the agent has all", head.place("tools"))
    names = written(head, node)
    if names is None:
        return draft.unreadable("tools is neither a list nor a comma text", head.place("tools"))
    if not names:
        help = "list the tools; what this host does with an empty list is not documented"
        return draft.unreadable("tools is empty", head.place("tools"), help)
    for one in names:
        _take(draft, _token(draft, one), denied)
    _warn_of_two_lists(draft)
    return draft.finish("listed")


def _denied(head: Head, draft: Draft) -> dict[str, Written] | None:
    node = head.get("disallowedTools")
    if node is None:
        return {}
    names = written(head, node)
    if names is None:
        return None
    for one in sorted(names, key=lambda name: name.text):
        draft.tokens.append(Token(one.text, *one.place, is_denied=True))
        draft.add(f"minus:{one.text}")
        if one.text.startswith("mcp__"):
            # A server that is granted whole is then granted in part, wherever it is named.
            draft.limit(f"minus:{one.text}")
    return {one.text: one for one in names}


def _take_keys(head: Head, draft: Draft) -> None:
    """Take what grants something beside the list of tools."""
    take_servers(draft, head, "mcpServers")
    take_named(draft, head, "skills", "skill")
    if head.get("hooks") is not None:
        draft.take(Token("hooks", *head.place("hooks"), (), ("hooks",)))
    for key, prefix in (("permissionMode", "permission"), ("memory", "memory")):
        node = head.get(key)
        if node is not None and text_of(node) != "default":
            extra = f"{prefix}:{text_of(node) or '*'}"
            draft.take(Token(text_of(node) or key, *head.place(key), (), (extra,)))
            if extra == "permission:plan":
                draft.limit(extra)
    if head.get("allowed-tools") is not None:
        draft.note(
            "not_enforced",
            "allowed-tools has no effect in a subagent",
            head.place("allowed-tools"),
            "write tools",
        )


def _token(draft: Draft, one: Written) -> Token:
    name, mcp = one.text, mcp_of(one.text)
    if name == "*":
        return Token(name, *one.place, CLAUDE_ALL, (ALL,))
    if mcp is not None:
        return Token(name, *one.place, (), (mcp,))
    meaning = CLAUDE.get(name)
    if meaning is not None:
        return Token(name, *one.place, *meaning)
    found = _SPECIFIER.fullmatch(name)
    if found is None or found[1] not in CLAUDE:
        return unknown(draft, one, CLAUDE)
    return _specified(draft, one, found[1], found[2])


def _specified(draft: Draft, one: Written, base: str, inside: str) -> Token:
    scopes, extras = CLAUDE[base]
    if base in _DISPATCH:
        targets = [target.strip() for target in inside.split(",") if target.strip()]
        if not targets:
            return unknown(draft, one, CLAUDE)
        return Token(one.text, *one.place, scopes, tuple(f"agents:{target}" for target in targets))
    draft.note(
        "not_enforced",
        f"{one.text!r} grants the whole of {base}: this host does not narrow a subagent's tool",
        one.place,
    )
    return Token(one.text, *one.place, scopes, (*extras, f"narrowing-not-enforced:{base}"))


def _take(draft: Draft, token: Token, denied: dict[str, Written]) -> None:
    """Take a token as far as the deny list leaves it."""
    base = token.text.partition("(")[0]
    if _is_denied(token, base, denied):
        draft.take(evolve(token, is_denied=True))
    elif base in _DISPATCH and _DISPATCH & denied.keys():
        # The two names are one tool, but some versions compare the names alone.
        draft.note("doubtful", f"{base} is denied under its other name only", _place(token))
        draft.doubt(token)
    elif any(name.startswith(f"{base}(") for name in denied):
        draft.note("doubtful", f"{base} is denied in part", _place(token))
        draft.doubt(token)
    else:
        draft.take(token)


def _is_denied(token: Token, base: str, denied: dict[str, Written]) -> bool:
    if token.text in denied or base in denied or "*" in denied:
        return True
    return any(extra.startswith("mcp:") and _mcp_denied(extra, denied) for extra in token.extras)


def _mcp_denied(extra: str, denied: dict[str, Written]) -> bool:
    server = extra.removeprefix("mcp:").partition("/")[0]
    return f"mcp__{server}" in denied or f"mcp__{server}__*" in denied


def _place(token: Token) -> tuple[int, int]:
    return token.line, token.column


def _warn_of_two_lists(draft: Draft) -> None:
    lists = [one for one in draft.tokens if one.scopes == ("agent",) and "(" in one.text]
    if len(lists) > 1:
        help = "write one Agent(a, b)"
        draft.note("doubtful", "two lists of agents: a host may take one", _place(lists[1]), help)
