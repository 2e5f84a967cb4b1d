"""What several readers share: lists of names, servers, unknown keys.

Above: the readers. Below: the head and the model.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from attr import frozen

from agentctl.agentfiles.header import at, text_of
from agentctl.agentfiles.model import Token
from agentctl.suggest import nearest
from agentctl.text.nodes import Mapping, Scalar, Sequence
from agentctl.value import Value

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agentctl.agentfiles.header import Head, Place
    from agentctl.agentfiles.model import Draft
    from agentctl.text.nodes import Node

# A name that can be shown and written again without quoting anything away.
NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
_MCP = re.compile(r"mcp__(.+?)__(.+)")
# A specifier may hold commas, so a comma inside brackets parts nothing.
_PART = re.compile(r"(?:[^,()]|\([^)]*\)|[()])+")


@frozen(eq=False, repr=False)
class Written(Value):
    """A name as the file writes it."""

    text: str
    place: Place


def written(head: Head, node: Node) -> list[Written] | None:
    """Return the names of a list or of a comma text; None when it is neither."""
    text = text_of(node)
    if text is not None:
        return _parted(head, text, at(node))
    if not isinstance(node, Sequence):
        return None
    found = [Written(name.strip(), at(one)) for one in node.items if (name := text_of(one))]
    return found if len(found) == len(node.items) else None


def _parted(head: Head, text: str, place: Place) -> list[Written]:
    found = []
    for part in _PART.findall(text):
        name = part.strip()
        if name:
            place = head.locate(name, place)
            found.append(Written(name, place))
            place = place[0], place[1] + len(name)
    return found


def unknown(draft: Draft, one: Written, known: Iterable[str]) -> Token:
    """Return the token of a name that the host does not have, and report it."""
    near = nearest(one.text, known)
    help = f"did you mean {near!r}?" if near else None
    draft.note("unknown_tool", f"{one.text!r} is no tool of this host", one.place, help)
    return Token(one.text, *one.place, (), (f"unknown:{one.text}",), is_known=False)


def mcp_of(name: str) -> str | None:
    """Return the extra of a name such as `mcp__server__tool`, or None."""
    found = _MCP.fullmatch(name)
    if found is not None:
        return f"mcp:{found[1]}/{found[2]}"
    server = name.removeprefix("mcp__")
    return f"mcp:{server}/*" if server != name and server else None


def take_servers(draft: Draft, head: Head, key: str) -> None:
    """Take the servers that a key starts: each of them with all its tools."""
    node = head.get(key)
    if node is None:
        return
    for name, place in servers(node) or [("*", at(node))]:
        extra = "mcp:*" if name == "*" else f"mcp:{name}/*"
        draft.take(Token(name, *place, (), (extra,)))


def servers(node: Node) -> list[tuple[str, Place]]:
    """Return the servers of an object, or of a list of names and objects, with their places."""
    if isinstance(node, Mapping):
        return list(node.keys.items())
    items = node.items if isinstance(node, Sequence) else [node]
    found: list[tuple[str, Place]] = []
    for one in items:
        if isinstance(one, Mapping):
            found += one.keys.items()
        elif isinstance(one, Scalar):
            found.append((one.text, at(one)))
    return found


def take_named(draft: Draft, head: Head, key: str, prefix: str) -> None:
    """Take every name of a list as an extra behind a prefix."""
    node = head.get(key)
    if node is None:
        return
    names = written(head, node)
    if names is None:
        draft.note("doubtful", f"{key} is not a list of names", head.place(key))
        names = [Written("*", at(node))]
    for one in names:
        draft.take(Token(one.text, *one.place, (), (f"{prefix}:{one.text}",)))


def report_keys(draft: Draft, head: Head, known: Iterable[str]) -> bool:
    """Report every key that the host does not know; return whether there is one."""
    names = set(known)
    strange = [key for key in head.root.entries if key not in names]
    for key in strange:
        near = nearest(key, names)
        help = f"did you mean {near!r}?" if near else None
        draft.note("unknown_key", f"{key!r} is no key of this host", head.place(key), help)
    return bool(strange)
