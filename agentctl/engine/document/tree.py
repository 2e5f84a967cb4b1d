"""YAML and JSON text as a tree of nodes that know where they stand.

Above: the reader. Below: the readers of the two notations and the builder. Nothing is raised for
what a text says: a text over the size limit, invalid UTF-8, NUL and whatever else keeps it from
being a tree come back as diagnostics.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from attr import frozen

from agentctl.diagnostics import Diagnostic
from agentctl.limits import DOCUMENT_BYTES_MAX
from agentctl.text.builder import TreeBuilder
from agentctl.text.nodes import Refused
from agentctl.text.yaml_text import place_of, read_yaml
from agentctl.value import Value

if TYPE_CHECKING:
    from agentctl.diagnostics import DiagnosticCode
    from agentctl.text.nodes import Mapping, Node


@frozen(eq=False, repr=False)
class Tree(Value):
    """A parsed text, or the problems that kept it from being one."""

    root: Node | None
    problems: list[Diagnostic]


def parse_tree(raw: bytes, file: str) -> Tree:
    """Return the tree of a text, with duplicate keys and the like as problems."""
    try:
        builder = _build(_decode(raw))
        if builder.root is None:
            raise Refused("the document is empty", (1, 1))
    except Refused as refused:
        return Tree(None, [_problem(file, "yaml_syntax", refused)])
    found = [_problem(file, "duplicate_key", one) for one in builder.duplicates]
    return Tree(builder.root, found)


def is_legacy(root: Mapping) -> bool:
    """Return whether a document is an unversioned playbook."""
    return "playbook" in root.entries and "apiVersion" not in root.entries


def _build(text: str) -> TreeBuilder:
    if text.lstrip(" \t\r\n")[:1] in ("{", "["):
        from agentctl.text.json_text import NotJson, read_json

        builder = TreeBuilder()
        try:
            read_json(text, builder)
        except NotJson:
            pass
        else:
            return builder
    builder = TreeBuilder()
    read_yaml(text, builder)
    return builder


def _decode(raw: bytes) -> str:
    if len(raw) > DOCUMENT_BYTES_MAX:
        message = f"the file has {len(raw):,} bytes; at most {DOCUMENT_BYTES_MAX:,}"
        raise Refused(message, (1, 1))
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        # With a byte order mark the codec counts from behind it.
        start = error.start + (len(raw) - len(error.object))
        before = raw[:start].decode("utf-8-sig")
        message = f"byte {start} is not UTF-8"
        raise Refused(message, place_of(before, len(before))) from None
    bad = text.find("\0")
    if bad >= 0:
        raise Refused("a NUL character is not text", place_of(text, bad))
    return text


def _problem(file: str, code: DiagnosticCode, refused: Refused) -> Diagnostic:
    line, column = refused.place
    return Diagnostic(
        code=code,
        message=refused.message,
        file=file,
        line=line,
        column=column,
        help=refused.help,
    )
