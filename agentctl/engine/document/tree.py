"""YAML and JSON text as a tree of nodes that know where they stand.

Above: the reader. Below: PyYAML's event parser (the C one where there is one); its loaders and
their YAML 1.1 surprises are not used. Refused with their place: text over the size limit,
invalid UTF-8, NUL, more than one document, tags, merge keys, duplicate keys, recursive or
multiplying aliases, and trees deeper than the limit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import yaml
from attr import define, field, frozen

from agentctl.diagnostics import Diagnostic
from agentctl.limits import DOCUMENT_BYTES_MAX, DOCUMENT_DEPTH_MAX, DOCUMENT_NODES_MAX

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentctl.diagnostics import DiagnosticCode

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@define(eq=False)
class Scalar:
    """A text; `plain` says that it stands without quotes and so may mean another type."""

    text: str
    plain: bool
    line: int
    column: int


@define(eq=False)
class Sequence:
    """A list."""

    items: list[Node]
    line: int
    column: int


@define(eq=False)
class Mapping:
    """An object; `keys` are the places of its keys."""

    entries: dict[str, Node]
    keys: dict[str, tuple[int, int]]
    line: int
    column: int


Node: TypeAlias = "Scalar | Sequence | Mapping"


@frozen
class Tree:
    """A parsed text, or the problems that kept it from being one."""

    root: Node | None
    problems: list[Diagnostic]


class _Refused(Exception):
    """The text cannot be a tree at all."""

    def __init__(self, message: str, line: int, column: int, help: str | None = None) -> None:
        self.message, self.line, self.column, self.help = message, line, column, help
        super().__init__(message)


def parse_tree(raw: bytes, file: str) -> Tree:
    """Return the tree of a text, with duplicate keys and the like as problems."""
    try:
        text = _decode(raw)
        builder = _Builder()
        root = builder.build(text)
    except _Refused as refused:
        return Tree(None, [_problem(file, "yaml_syntax", refused)])
    except yaml.MarkedYAMLError as error:
        return Tree(None, [_syntax(file, error)])
    except yaml.YAMLError as error:
        return Tree(None, [_problem(file, "yaml_syntax", _Refused(_first_line(error), 1, 1))])
    if root is None:
        empty = _Refused("the document is empty", 1, 1)
        return Tree(None, [_problem(file, "yaml_syntax", empty)])
    found = [_problem(file, "duplicate_key", one) for one in builder.duplicates]
    return Tree(root, found)


def _decode(raw: bytes) -> str:
    if len(raw) > DOCUMENT_BYTES_MAX:
        raise _Refused(f"the file has {len(raw):,} bytes; at most {DOCUMENT_BYTES_MAX:,}", 1, 1)
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        column = error.start - (raw.rfind(b"\n", 0, error.start) + 1) + 1
        raise _Refused(f"byte {error.start} is not UTF-8", line, column) from None
    bad = text.find("\0")
    if bad >= 0:
        line = text.count("\n", 0, bad) + 1
        raise _Refused("a NUL character is not text", line, bad - text.rfind("\n", 0, bad))
    return text


@define
class _Frame:
    node: Sequence | Mapping
    anchor: str | None
    key: str | None = None


@define
class _Builder:
    """Builds a tree from parser events without recursion."""

    duplicates: list[_Refused] = field(factory=list)
    _anchors: dict[str, Node] = field(factory=dict)
    _sizes: dict[int, int] = field(factory=dict)
    _stack: list[_Frame] = field(factory=list)
    _root: Node | None = None
    _count: int = 0

    def build(self, text: str) -> Node | None:
        """Return the root of the only document."""
        documents = 0
        for event in self._events(text):
            if isinstance(event, yaml.DocumentStartEvent):
                documents += 1
                if documents > 1:
                    raise _at(event, "a file holds one document; a second one starts here")
            elif isinstance(event, yaml.NodeEvent):
                self._node(event)
            elif isinstance(event, yaml.CollectionEndEvent):
                self._close()
        return self._root

    def _events(self, text: str) -> Iterator[yaml.Event]:
        try:
            yield from yaml.parse(text, Loader=_LOADER)
        except RecursionError:
            raise _Refused("the document is nested too deeply", 1, 1) from None

    def _node(self, event: yaml.NodeEvent) -> None:
        if isinstance(event, yaml.AliasEvent):
            self._place(self._alias(event), event)
            return
        _refuse_tag(event)
        line, column = event.start_mark.line + 1, event.start_mark.column + 1
        if isinstance(event, yaml.ScalarEvent):
            node = Scalar(event.value, not event.style and event.implicit[0], line, column)
            if event.anchor:
                self._anchors[event.anchor] = node
            self._place(node, event)
            return
        self._refuse_complex_key(event)
        opened: Sequence | Mapping
        if isinstance(event, yaml.SequenceStartEvent):
            opened = Sequence([], line, column)
        else:
            opened = Mapping({}, {}, line, column)
        self._place(opened, event)
        self._stack.append(_Frame(opened, event.anchor))
        if len(self._stack) > DOCUMENT_DEPTH_MAX:
            raise _at(event, f"the document is nested more than {DOCUMENT_DEPTH_MAX} levels deep")

    def _alias(self, event: yaml.AliasEvent) -> Node:
        node = self._anchors.get(event.anchor)
        if node is None:
            inside = any(frame.anchor == event.anchor for frame in self._stack)
            reason = "refers to what contains it" if inside else "has no anchor before it"
            raise _at(event, f"the alias *{event.anchor} {reason}")
        # An alias counts as all the nodes it stands for: this is what stops an alias bomb.
        self._count += self._size(node)
        self._check_count(event)
        return node

    def _size(self, node: Node) -> int:
        known = self._sizes.get(id(node))
        if known is None:
            if isinstance(node, Scalar):
                known = 1
            else:
                inner = node.items if isinstance(node, Sequence) else node.entries.values()
                known = 1 + sum(self._size(one) for one in inner)
            self._sizes[id(node)] = known
        return known

    def _check_count(self, event: yaml.Event) -> None:
        if self._count > DOCUMENT_NODES_MAX:
            raise _at(event, f"the document has more than {DOCUMENT_NODES_MAX:,} nodes")

    def _place(self, node: Node, event: yaml.NodeEvent) -> None:
        """Put a node where it belongs: into the open list or object, or as the root."""
        self._count += 1
        self._check_count(event)
        if not self._stack:
            self._root = node
            return
        frame = self._stack[-1]
        if isinstance(frame.node, Sequence):
            frame.node.items.append(node)
        elif frame.key is None:
            self._key(frame, node, event)
        else:
            if frame.key not in frame.node.entries:
                frame.node.entries[frame.key] = node
            frame.key = None

    def _key(self, frame: _Frame, node: Node, event: yaml.NodeEvent) -> None:
        assert isinstance(frame.node, Mapping)
        if not isinstance(node, Scalar):
            raise _at(event, "a key must be text")
        line, column = event.start_mark.line + 1, event.start_mark.column + 1
        if node.plain and node.text == "<<":
            raise _Refused(
                "merge keys are not YAML 1.2", line, column, "write the entries themselves"
            )
        earlier = frame.node.keys.get(node.text)
        if earlier is not None:
            message = f"duplicate key {node.text!r}; it stands in line {earlier[0]} too"
            self.duplicates.append(_Refused(message, line, column))
        else:
            frame.node.keys[node.text] = (line, column)
        frame.key = node.text

    def _refuse_complex_key(self, event: yaml.NodeEvent) -> None:
        if self._stack:
            frame = self._stack[-1]
            if isinstance(frame.node, Mapping) and frame.key is None:
                raise _at(event, "a key must be text")

    def _close(self) -> None:
        frame = self._stack.pop()
        if frame.anchor:
            self._anchors[frame.anchor] = frame.node


def _refuse_tag(event: yaml.NodeEvent) -> None:
    tag = getattr(event, "tag", None)
    if tag is not None and tag not in ("!", "tag:yaml.org,2002:str"):
        raise _at(event, f"the tag {tag!r} is not allowed", "documents hold plain data only")


def _at(event: yaml.Event, message: str, help: str | None = None) -> _Refused:
    mark = event.start_mark
    return _Refused(message, mark.line + 1, mark.column + 1, help)


def _syntax(file: str, error: yaml.MarkedYAMLError) -> Diagnostic:
    mark = error.problem_mark or error.context_mark
    line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
    parts = [part for part in (error.context, error.problem) if part]
    return _problem(file, "yaml_syntax", _Refused(": ".join(parts), line, column))


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0] if str(error) else "the text is not YAML"


def _problem(file: str, code: DiagnosticCode, refused: _Refused) -> Diagnostic:
    return Diagnostic(
        code=code,
        message=refused.message,
        file=file,
        line=refused.line,
        column=refused.column,
        help=refused.help,
    )
