"""Goose recipes: `.goose/recipes/*.yaml`.

Above: `reading`. Below: the extensions and what the readers share. Without a list the user's own
extensions load; an empty list of tools opens them all; a name counts only with what runs under
it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from agentctl.agentfiles.header import at, is_null, text_of
from agentctl.agentfiles.model import Token
from agentctl.agentfiles.readers.common import report_keys, written
from agentctl.agentfiles.readers.extensions import Extension, take_extensions
from agentctl.text.nodes import Mapping, Sequence

if TYPE_CHECKING:
    from agentctl.agentfiles.header import Head
    from agentctl.agentfiles.model import Draft, Grant
    from agentctl.text.nodes import Node

KEYS: Final = (
    "version", "title", "description", "instructions", "prompt", "activities", "extensions",
    "parameters", "response", "retry", "settings", "sub_recipes", "author", "context", "name",
)  # fmt: skip
_BLANK = re.compile(r"\s+")
_OTHER = re.compile(r"[^a-z0-9_-]")


def read(head: Head, draft: Draft) -> Grant:
    """Return the grant of a recipe."""
    report_keys(draft, head, KEYS)
    node = head.get("extensions")
    if node is None:
        place = head.place("extensions")
        return draft.inherits(
            "extensions key missing or null: the user's own extensions load", place
        )
    if not isinstance(node, Sequence):
        return draft.unreadable("extensions is not a list", head.place("extensions"))
    take_extensions(draft, [_extension(head, item) for item in node.items])
    _take_sub_recipes(head, draft)
    return draft.finish("listed" if draft.tokens or draft.is_open else "none")


def _extension(head: Head, item: Node) -> Extension | None:
    """Return an entry of the list, or None when it cannot be read."""
    entries = item.entries if isinstance(item, Mapping) else {}
    name, kind = text_of(entries.get("name")), text_of(entries.get("type"))
    if name is None or kind is None:
        return None
    allowed = entries.get("available_tools")
    if allowed is None or is_null(allowed):
        tools = None
    elif isinstance(allowed, Sequence) and (names := written(head, allowed)) is not None:
        tools = tuple(names) or None
    else:
        return None
    return Extension(
        name=plain_name(name),
        type=kind,
        tools=tools,
        command=text_of(entries.get("cmd")),
        arguments=_arguments(entries.get("args")),
        keys=frozenset(key for key, node in entries.items() if not _is_empty(node)),
        place=at(entries["name"]),
    )


def plain_name(name: str) -> str:
    """Return a name as Goose compares it: no blanks, lower case, other signs as `_`."""
    return _OTHER.sub("_", _BLANK.sub("", name).lower())


def _arguments(node: Node | None) -> tuple[str, ...] | None:
    items = node.items if isinstance(node, Sequence) else []
    found = tuple(text for one in items if (text := text_of(one)) is not None)
    return found if len(found) == len(items) else None


def _is_empty(node: Node) -> bool:
    if is_null(node):
        return True
    return (isinstance(node, Sequence) and not node.items) or (
        isinstance(node, Mapping) and not node.entries
    )


def _take_sub_recipes(head: Head, draft: Draft) -> None:
    node = head.get("sub_recipes")
    for item in node.items if isinstance(node, Sequence) else []:
        named = item.entries.get("name") if isinstance(item, Mapping) else None
        name = text_of(named)
        # An open `summon` dispatches to everybody, so single names would say less.
        extras = (
            () if "agent.start" in draft.lower and not _targets(draft) else (f"agents:{name}",)
        )
        place = at(item if named is None else named)
        draft.take(Token(name or "sub_recipes", *place, ("agent",), extras if name else ()))
    if node is not None and not isinstance(node, Sequence):
        draft.is_open = True
        draft.note("doubtful", "sub_recipes is not a list", head.place("sub_recipes"))


def _targets(draft: Draft) -> bool:
    return any(one.startswith("agents:") for one in draft.extras)
