"""Feed JSON text to the builder.

Above: the tree. Below: the nodes. YAML's parsers refuse some JSON (pairs of surrogate escapes,
keys of more than 1,024 characters), so a text that is JSON is read as JSON.
Source: RFC 8259.
"""

from __future__ import annotations

import re
from json import loads
from typing import TYPE_CHECKING

from attr import define, field

from agentctl.text.nodes import Mapping, Refused, Sequence

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentctl.text.builder import TreeBuilder
    from agentctl.text.nodes import Place

_BLANK = r"([ \t\r\n]*)"
_STRING = (
    r'"[^"\\\x00-\x1f]*'
    r'(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*)*"'
)
_LITERAL = r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|true|false|null"
_TOKEN = re.compile(rf"{_BLANK}(?:([{{}}\[\],:])|({_STRING})|({_LITERAL}))")
_END = re.compile(r"[ \t\r\n]*\Z")
_SURROGATE = re.compile("[\ud800-\udfff]")

_VALUE, _VALUE_OR_END, _KEY, _KEY_OR_END, _COLON, _COMMA_OR_END, _DONE = range(7)


class NotJson(Exception):
    """The text is not JSON; it may still be YAML."""


def read_json(text: str, builder: TreeBuilder) -> None:
    """Give every part of a text to the builder. Raises NotJson, or Refused."""
    scanner = _Scanner(builder)
    for mark, string, literal, place in _tokens(text):
        if mark:
            scanner.mark(mark, place)
        elif string:
            scanner.string(_unescaped(string, place), place)
        else:
            scanner.value()
            builder.scalar(literal, place, plain=True)
    if scanner.wanted != _DONE:
        raise NotJson


def _tokens(text: str) -> Iterator[tuple[str, str, str, Place]]:
    """Split a text into marks, strings and literals with their places. Raises NotJson."""
    index, line, line_start, match = 0, 1, 0, _TOKEN.match
    while found := match(text, index):
        blank, mark, string, literal = found.groups("")
        if "\n" in blank:
            # No token holds a line break, so only the blanks between them count lines.
            line += blank.count("\n")
            line_start = index + blank.rfind("\n") + 1
        yield mark, string, literal, (line, index + len(blank) - line_start + 1)
        index = found.end()
    if not _END.match(text, index):
        raise NotJson


def _unescaped(string: str, place: Place) -> str:
    if "\\" not in string:
        return string[1:-1]
    value: str = loads(string)
    if _SURROGATE.search(value):
        raise Refused("half of a surrogate pair is not text", place)
    return value


@define(eq=False, repr=False)
class _Scanner:
    """Knows what may come next."""

    builder: TreeBuilder
    wanted: int = _VALUE
    _open: list[str] = field(factory=list)

    def mark(self, mark: str, place: Place) -> None:
        """Take a bracket, a comma or a colon."""
        if mark == "{":
            self._begin(Mapping({}, {}, *place), "}", _KEY_OR_END, place)
        elif mark == "[":
            self._begin(Sequence([], *place), "]", _VALUE_OR_END, place)
        elif mark == ":":
            self._move(_COLON, _VALUE)
        elif mark == ",":
            self._move(_COMMA_OR_END, _KEY if self._open[-1:] == ["}"] else _VALUE)
        else:
            self._end(mark)

    def string(self, text: str, place: Place) -> None:
        """Take a key or a text."""
        if self.wanted in (_KEY, _KEY_OR_END):
            self.wanted = _COLON
        else:
            self.value()
        self.builder.scalar(text, place, plain=False)

    def value(self) -> None:
        """Take note of a value."""
        if self.wanted not in (_VALUE, _VALUE_OR_END):
            raise NotJson
        self.wanted = _COMMA_OR_END if self._open else _DONE

    def _begin(self, node: Mapping | Sequence, end: str, wanted: int, place: Place) -> None:
        self.value()
        self.builder.open(node, place)
        self._open.append(end)
        self.wanted = wanted

    def _end(self, mark: str) -> None:
        empty = _KEY_OR_END if mark == "}" else _VALUE_OR_END
        if self._open[-1:] != [mark] or self.wanted not in (_COMMA_OR_END, empty):
            raise NotJson
        self._open.pop()
        self.builder.close()
        self.wanted = _COMMA_OR_END if self._open else _DONE

    def _move(self, needed: int, wanted: int) -> None:
        if self.wanted != needed:
            raise NotJson
        self.wanted = wanted
