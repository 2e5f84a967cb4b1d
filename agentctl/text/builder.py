"""Build a tree from a stream of scalars, openings, closings and aliases, without recursion.

Above: the YAML and the JSON text readers. Below: the nodes. Here stand the bounds of a tree:
its depth, its size, and the length of the way to a value, each counted as if every alias were
written out, which is what stops an alias bomb; and the rules for keys: text, no merge keys, no
duplicates.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from attr import define, field

from agentctl.limits import (
    DOCUMENT_DEPTH_MAX,
    DOCUMENT_NODE_CHARACTERS,
    DOCUMENT_NODES_MAX,
    DOCUMENT_PATH_CHARACTERS_MAX,
)
from agentctl.text.nodes import Mapping, Refused, Scalar, Sequence

if TYPE_CHECKING:
    from agentctl.text.nodes import Node, Place

_TOO_DEEP = f"the document is nested more than {DOCUMENT_DEPTH_MAX} levels deep"
_TOO_MANY = (
    f"the document has more than {DOCUMENT_NODES_MAX:,} nodes with its aliases written out; "
    f"every {DOCUMENT_NODE_CHARACTERS} characters of a text count as one more"
)
_TOO_FAR = (
    f"the keys on the way to this value have more than {DOCUMENT_PATH_CHARACTERS_MAX:,} "
    "characters in all"
)


@define(eq=False, repr=False)
class _Extent:
    """How much a node holds: nodes, levels, and characters of the keys on its longest way."""

    size: int = 1
    height: int = 0
    reach: int = 0


@define(eq=False, repr=False)
class _Frame:
    """An open list or object, what it holds so far, and the keys on the way to it."""

    node: Sequence | Mapping
    anchor: str | None
    extent: _Extent
    above: int
    key: str | None = None


@define(eq=False, repr=False)
class TreeBuilder:
    """Takes the parts of one document in reading order; `root` is the tree at the end."""

    root: Node | None = None
    duplicates: list[Refused] = field(factory=list)
    _anchors: dict[str, tuple[Node, _Extent]] = field(factory=dict)
    _stack: list[_Frame] = field(factory=list)
    _count: int = 0

    def scalar(self, text: str, place: Place, *, plain: bool, anchor: str | None = None) -> None:
        """Take a scalar."""
        node = Scalar(text, plain, *place)
        extent = _Extent(1 + len(text) // DOCUMENT_NODE_CHARACTERS)
        if anchor:
            self._anchors[anchor] = (node, extent)
        self._put(node, place, extent)

    def open(self, node: Sequence | Mapping, place: Place, anchor: str | None = None) -> None:
        """Take the start of a list or an object."""
        if self._wants_key():
            raise Refused("a key must be text", place)
        if len(self._stack) >= DOCUMENT_DEPTH_MAX:
            raise Refused(_TOO_DEEP, place)
        extent = _Extent(height=1)
        above = self._put(node, place, extent)
        self._stack.append(_Frame(node, anchor, extent, above))

    def close(self) -> None:
        """Take the end of the innermost list or object."""
        frame = self._stack.pop()
        inner = frame.extent
        if frame.anchor:
            self._anchors[frame.anchor] = (frame.node, inner)
        if self._stack:
            # Its own node was counted when it was opened.
            outer = self._stack[-1]
            outer.extent.size += inner.size - 1
            outer.extent.height = max(outer.extent.height, inner.height + 1)
            outer.extent.reach = max(outer.extent.reach, frame.above - outer.above + inner.reach)

    def alias(self, name: str, place: Place) -> None:
        """Take a reference to an earlier node."""
        if any(frame.anchor == name for frame in self._stack):
            raise Refused(f"the alias *{name} refers to what contains it", place)
        known = self._anchors.get(name)
        if known is None:
            raise Refused(f"the alias *{name} has no anchor before it", place)
        node, extent = known
        if len(self._stack) + extent.height > DOCUMENT_DEPTH_MAX:
            raise Refused(_TOO_DEEP, place)
        self._put(node, place, extent)

    def _wants_key(self) -> bool:
        if not self._stack:
            return False
        frame = self._stack[-1]
        return frame.key is None and isinstance(frame.node, Mapping)

    def _put(self, node: Node, place: Place, inner: _Extent) -> int:
        """Put a node where it belongs: into the open list or object, or as the root.

        Return the number of characters of the keys on the way to it.
        """
        self._count += inner.size
        if self._count > DOCUMENT_NODES_MAX:
            raise Refused(_TOO_MANY, place)
        if not self._stack:
            self.root = node
            return 0
        frame = self._stack[-1]
        holder, outer, step = frame.node, frame.extent, 0
        outer.size += inner.size
        outer.height = max(outer.height, inner.height + 1)
        if isinstance(holder, Sequence):
            holder.items.append(node)
        elif frame.key is None:
            frame.key = self._key(holder, node, place)
        else:
            step = len(frame.key)
            holder.entries.setdefault(frame.key, node)
            frame.key = None
        outer.reach = max(outer.reach, step + inner.reach)
        if frame.above + step + inner.reach > DOCUMENT_PATH_CHARACTERS_MAX:
            raise Refused(_TOO_FAR, place)
        return frame.above + step

    def _key(self, holder: Mapping, node: Node, place: Place) -> str:
        """Return the text of a key, noting a duplicate."""
        if not isinstance(node, Scalar):
            raise Refused("a key must be text", place)
        key = node.text
        if node.plain and key == "<<":
            raise Refused("merge keys are not YAML 1.2", place, "write the entries themselves")
        earlier = holder.keys.get(key)
        if earlier is None:
            holder.keys[key] = place
        else:
            message = f"duplicate key {key!r}; it stands in line {earlier[0]} too"
            self.duplicates.append(Refused(message, place))
        return key
