"""Write a tree as YAML text that reads as the same tree.

Above: migration. Below: PyYAML's emitter, which is given events and so decides about no types:
a plain scalar stays as it was written, and a quoted one stays quoted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import yaml

from agentctl.text.core_schema import NotJson, core_value
from agentctl.text.nodes import Scalar, Sequence

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentctl.text.nodes import Node

_WIDTH = 99
_OTHER_BREAKS = frozenset("\r\x85\u2028\u2029")
_BREAKS = _OTHER_BREAKS | {"\n"}


def yaml_text(root: Node) -> str:
    """Return the YAML text of a tree, in blocks, aliases written out."""
    text: str = yaml.emit(_stream(root), allow_unicode=True, width=_WIDTH)
    return text


def _stream(root: Node) -> Iterator[yaml.Event]:
    yield yaml.StreamStartEvent()
    yield yaml.DocumentStartEvent(explicit=False)
    yield from _events(root)
    yield yaml.DocumentEndEvent(explicit=False)
    yield yaml.StreamEndEvent()


def _events(node: Node) -> Iterator[yaml.Event]:
    if isinstance(node, Scalar):
        yield _scalar(node)
    elif isinstance(node, Sequence):
        yield yaml.SequenceStartEvent(None, None, implicit=True, flow_style=not node.items)
        for one in node.items:
            yield from _events(one)
        yield yaml.SequenceEndEvent()
    else:
        yield yaml.MappingStartEvent(None, None, implicit=True, flow_style=not node.entries)
        for key, one in node.entries.items():
            yield _scalar(Scalar(key, _is_text(key), *node.keys[key]))
            yield from _events(one)
        yield yaml.MappingEndEvent()


def _is_text(key: str) -> bool:
    """Return whether any reader takes a key for text when it stands without quotes."""
    try:
        return key != "<<" and core_value(key) == key
    except NotJson:
        return False


def _scalar(node: Scalar) -> yaml.Event:
    text = node.text
    if _BREAKS.isdisjoint(text):
        style = None if node.plain else '"'
    else:
        # Only a line feed survives in a block; no other style keeps the rest.
        style = '"' if not _OTHER_BREAKS.isdisjoint(text) else "|"
    if style is None:
        # An empty plain scalar is null, which the emitter would write as an empty text.
        return yaml.ScalarEvent(None, None, (True, True), text or "null")
    return yaml.ScalarEvent(None, None, (False, True), text, style=style)
