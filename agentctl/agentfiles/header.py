"""The head of an agent file as a tree: front matter, a whole YAML text, or TOML.

Above: the readers. Below: the text layer. YAML is read as YAML 1.2: NEL and the two Unicode
separators end no line. Duplicate keys, tags, anchors and aliases make a head unreadable: which of
two values a host takes is not for us to guess.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeAlias

from attr import define, field

from agentctl.limits import DOCUMENT_BYTES_MAX
from agentctl.text.builder import TreeBuilder
from agentctl.text.core_schema import NULLS, NotJson, core_value
from agentctl.text.nodes import Mapping, Refused, Scalar, Sequence
from agentctl.text.yaml_text import read_yaml

if TYPE_CHECKING:
    from agentctl.jsonvalue import JsonObject, JsonValue
    from agentctl.text.nodes import Node

Place: TypeAlias = tuple[int, int]

_OPEN = re.compile(r"\ufeff?---[ \t]*(?:\r\n|\r|\n)")
_CLOSE = re.compile(r"(?<=[\r\n])---[ \t]*(?:\r\n|\r|\n|\Z)")
_LINE_END = re.compile(r"\r\n|\r|\n")
# PyYAML ends lines at these as YAML 1.1 does; stand-ins carry them past its parser.
_BREAKS_1_1 = "\x85\u2028\u2029"
_STAND_INS = "\uf885\uf8a8\uf8a9"
_HIDE = str.maketrans(_BREAKS_1_1, _STAND_INS)
_SHOW = str.maketrans(_STAND_INS, _BREAKS_1_1)


@define(eq=False, repr=False)
class PlainBuilder(TreeBuilder):
    """A tree without anchors and aliases."""

    def scalar(self, text: str, place: Place, *, plain: bool, anchor: str | None = None) -> None:
        """Take a scalar."""
        _refuse_anchor(anchor, place)
        super().scalar(text.translate(_SHOW), place, plain=plain)

    def open(self, node: Sequence | Mapping, place: Place, anchor: str | None = None) -> None:
        """Take the start of a list or an object."""
        _refuse_anchor(anchor, place)
        super().open(node, place)

    def alias(self, name: str, place: Place) -> None:
        """Refuse an alias."""
        raise Refused(f"the alias *{name} is not read here", place, "write the value itself")


def _refuse_anchor(anchor: str | None, place: Place) -> None:
    if anchor is not None:
        message = f"the anchor &{anchor} is not read here"
        raise Refused(message, place, "write the value without an anchor")


@define(eq=False, repr=False)
class Head:
    """The keys of a file, and the text behind them. `text` is the whole file, for places."""

    root: Mapping
    body: str
    text: str
    _ends: list[int] = field(factory=list)

    def get(self, key: str) -> Node | None:
        """Return a key's value; None when it is missing or null."""
        node = self.root.entries.get(key)
        return None if node is None or is_null(node) else node

    def place(self, key: str) -> Place:
        """Return where a key stands, or the start of the head."""
        return self.root.keys.get(key, (self.root.line, self.root.column))

    def locate(self, wanted: str, near: Place) -> Place:
        """Return where a text stands at or behind a place, or the place itself."""
        if not self._ends:
            self._ends = [0, *(found.end() for found in _LINE_END.finditer(self.text))]
        start = self._ends[min(near[0], len(self._ends)) - 1] + near[1] - 1
        index = self.text.find(wanted, start)
        if not wanted or index < 0:
            return near
        line = _last_not_after(self._ends, index)
        return line + 1, index - self._ends[line] + 1


def _last_not_after(ends: list[int], index: int) -> int:
    from bisect import bisect_right

    return bisect_right(ends, index) - 1


def read_front_matter(text: str) -> Head:
    """Return the head between two `---` lines. Raises Refused.

    Only a `---` in column 0 ends it; a byte order mark before it is skipped.
    """
    _bound(text)
    start = _OPEN.match(text)
    if start is None:
        raise Refused("the file has no front matter", (1, 1), "start it with a line `---`")
    end = _CLOSE.search(text, start.end())
    if end is None:
        raise Refused("the front matter does not end", (1, 1), "end it with a line `---`")
    # The line break in front keeps the line numbers of the file.
    root = _read("\n" + text[start.end() : end.start()])
    return Head(root, text[end.end() :], text)


def read_recipe(text: str) -> Head:
    """Return the head that is the whole YAML text. Raises Refused."""
    _bound(text)
    return Head(_read(text.removeprefix("\ufeff")), "", text)


def _bound(text: str) -> None:
    if len(text) > DOCUMENT_BYTES_MAX:
        message = f"the file has {len(text):,} characters; at most {DOCUMENT_BYTES_MAX:,}"
        raise Refused(message, (1, 1))


def _read(text: str) -> Mapping:
    builder = PlainBuilder()
    read_yaml(text if text.isascii() else text.translate(_HIDE), builder, is_portable=True)
    if builder.duplicates:
        raise builder.duplicates[0]
    root = builder.root
    if root is None or is_null(root):
        return Mapping({}, {}, 1, 1)
    if not isinstance(root, Mapping):
        raise Refused("the head is not a list of keys", (root.line, root.column))
    return root


def is_null(node: Node) -> bool:
    """Return whether a node is YAML's null."""
    return isinstance(node, Scalar) and node.plain and node.text in NULLS


def text_of(node: Node | None) -> str | None:
    """Return a node's text; None for null, numbers, booleans, lists and objects."""
    if not isinstance(node, Scalar):
        return None
    if node.plain and not isinstance(_core(node.text), str):
        return None
    return node.text


def boolean_of(node: Node | None) -> bool | None:
    """Return a node's boolean, or None when it is anything else."""
    value = _core(node.text) if isinstance(node, Scalar) and node.plain else None
    return value if isinstance(value, bool) else None


def value_of(node: Node) -> JsonValue:
    """Return a node as a JSON value; numbers that JSON does not have stay text."""
    if isinstance(node, Scalar):
        return _core(node.text) if node.plain else node.text
    if isinstance(node, Sequence):
        return [value_of(one) for one in node.items]
    inner: JsonObject = {key: value_of(one) for key, one in node.entries.items()}
    return inner


def _core(text: str) -> JsonValue:
    try:
        return core_value(text)
    except NotJson:
        return text


def at(node: Node) -> Place:
    """Return where a node stands."""
    return node.line, node.column
