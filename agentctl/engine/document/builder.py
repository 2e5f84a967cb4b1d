"""Build a tree from a stream of scalars, openings, closings and aliases, without recursion.

Above: the YAML and the JSON text readers. Below: the nodes. Here stand the bounds of a tree:
its depth and its number of nodes, each counted as if every alias were written out, which is
what stops an alias bomb; and the rules for keys: text, no merge keys, no duplicates.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from attr import define, field

from agentctl.engine.document.nodes import Mapping, Refused, Scalar, Sequence
from agentctl.limits import DOCUMENT_DEPTH_MAX, DOCUMENT_NODES_MAX

if TYPE_CHECKING:
    from agentctl.engine.document.nodes import Node, Place

_TOO_DEEP = f"the document is nested more than {DOCUMENT_DEPTH_MAX} levels deep"
_TOO_MANY = f"the document has more than {DOCUMENT_NODES_MAX:,} nodes"


@define(eq=False, repr=False)
class _Frame:
    """An open list or object; size and height are those of what it holds so far."""

    node: Sequence | Mapping
    anchor: str | None
    key: str | None = None
    size: int = 1
    height: int = 1


@define(eq=False, repr=False)
class TreeBuilder:
    """Takes the parts of one document in reading order; `root` is the tree at the end."""

    root: Node | None = None
    duplicates: list[Refused] = field(factory=list)
    _anchors: dict[str, tuple[Node, int, int]] = field(factory=dict)
    _stack: list[_Frame] = field(factory=list)
    _count: int = 0

    def scalar(self, text: str, place: Place, *, plain: bool, anchor: str | None = None) -> None:
        """Take a scalar."""
        node = Scalar(text, plain, *place)
        if anchor:
            self._anchors[anchor] = (node, 1, 0)
        self._put(node, place, 1, 0)

    def open(self, node: Sequence | Mapping, place: Place, anchor: str | None = None) -> None:
        """Take the start of a list or an object."""
        if self._wants_key():
            raise Refused("a key must be text", place)
        if len(self._stack) >= DOCUMENT_DEPTH_MAX:
            raise Refused(_TOO_DEEP, place)
        self._put(node, place, 1, 1)
        self._stack.append(_Frame(node, anchor))

    def close(self) -> None:
        """Take the end of the innermost list or object."""
        frame = self._stack.pop()
        if frame.anchor:
            self._anchors[frame.anchor] = (frame.node, frame.size, frame.height)
        if self._stack:
            outer = self._stack[-1]
            outer.size += frame.size - 1
            outer.height = max(outer.height, frame.height + 1)

    def alias(self, name: str, place: Place) -> None:
        """Take a reference to an earlier node."""
        if any(frame.anchor == name for frame in self._stack):
            raise Refused(f"the alias *{name} refers to what contains it", place)
        known = self._anchors.get(name)
        if known is None:
            raise Refused(f"the alias *{name} has no anchor before it", place)
        node, size, height = known
        if len(self._stack) + height > DOCUMENT_DEPTH_MAX:
            raise Refused(_TOO_DEEP, place)
        self._put(node, place, size, height)

    def _wants_key(self) -> bool:
        if not self._stack:
            return False
        frame = self._stack[-1]
        return frame.key is None and isinstance(frame.node, Mapping)

    def _put(self, node: Node, place: Place, size: int, height: int) -> None:
        """Put a node where it belongs: into the open list or object, or as the root."""
        self._count += size
        if self._count > DOCUMENT_NODES_MAX:
            raise Refused(_TOO_MANY, place)
        if not self._stack:
            self.root = node
            return
        frame = self._stack[-1]
        frame.size += size
        frame.height = max(frame.height, height + 1)
        holder = frame.node
        if isinstance(holder, Sequence):
            holder.items.append(node)
        elif frame.key is None:
            frame.key = self._key(holder, node, place)
        else:
            holder.entries.setdefault(frame.key, node)
            frame.key = None

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
