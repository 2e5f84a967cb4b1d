"""Feed YAML text to the builder.

Above: the tree. Below: PyYAML's event parser (the C one where there is one); its loaders and
their YAML 1.1 surprises are not used. Refused with their place: characters that YAML forbids,
tags, and more than one document.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import yaml
from yaml.reader import Reader

from agentctl.text.nodes import Mapping, Refused, Sequence

if TYPE_CHECKING:
    from agentctl.text.builder import TreeBuilder
    from agentctl.text.nodes import Place

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
# YAML 1.2.2, production c-printable, negated; compiling it again would cost milliseconds.
_FORBIDDEN = Reader.NON_PRINTABLE
_SURROGATE = re.compile("[\ud800-\udfff]")
# Tabs, a comment that touches the mark of a block, a colon before a sign: parsers differ there.
_DISPUTED = re.compile(r"\t|[|>][-+0-9]*#|:[\[\]{},]")
# YAML 1.2.2, section 7.4.2: longer keys need the mark of an explicit key.
_KEY_CHARACTERS_MAX = 1024
_TEXT_TAGS = frozenset({"!", "tag:yaml.org,2002:str"})


def read_yaml(text: str, builder: TreeBuilder, *, is_portable: bool = False) -> None:
    """Give every part of a text to the builder. Raises Refused.

    With `is_portable` the text is read the same whether or not there is a C parser.
    """
    bad = _FORBIDDEN.search(text)
    if bad is not None:
        message = f"the character U+{ord(bad.group()):04X} is not allowed as it is"
        raise Refused(message, place_of(text, bad.start()), "write it as an escape in quotes")
    documents = 0
    loader = yaml.SafeLoader if is_portable and _is_disputed(text) else _LOADER
    try:
        for event in yaml.parse(text, Loader=loader):
            if isinstance(event, yaml.DocumentStartEvent):
                documents += 1
                if documents > 1:
                    message = "a file holds one document; a second one starts here"
                    raise Refused(message, _start(event))
            elif isinstance(event, yaml.CollectionEndEvent):
                builder.close()
            elif isinstance(event, yaml.NodeEvent):
                _take(event, builder)
    except yaml.MarkedYAMLError as error:
        raise _syntax(text, error) from None
    except (yaml.YAMLError, RecursionError) as error:
        raise Refused(_first_line(error), (1, 1)) from None


def _is_disputed(text: str) -> bool:
    """Return whether two parsers may read a text in two ways."""
    if "?" in text and ("[" in text or "{" in text):
        return True
    return _DISPUTED.search(text) is not None


def place_of(text: str, index: int) -> Place:
    """Return the line and column of a position in a text."""
    return text.count("\n", 0, index) + 1, index - text.rfind("\n", 0, index)


def _take(event: yaml.NodeEvent, builder: TreeBuilder) -> None:
    place, anchor = _start(event), event.anchor
    if isinstance(event, yaml.ScalarEvent):
        _refuse_tag(event.tag, place)
        value: str = event.value
        if not value.isascii() and _SURROGATE.search(value):
            raise Refused("half of a surrogate pair is not text", place)
        plain = not event.style and event.tag is None
        builder.scalar(value, place, plain=plain, anchor=anchor)
    elif isinstance(event, yaml.MappingStartEvent):
        _refuse_tag(event.tag, place)
        builder.open(Mapping({}, {}, *place), place, anchor)
    elif isinstance(event, yaml.SequenceStartEvent):
        _refuse_tag(event.tag, place)
        builder.open(Sequence([], *place), place, anchor)
    else:
        builder.alias(str(anchor), place)


def _refuse_tag(tag: str | None, place: Place) -> None:
    if tag is not None and tag not in _TEXT_TAGS:
        message = f"the tag {tag!r} is not allowed"
        raise Refused(message, place, "documents hold plain data only")


def _start(event: yaml.Event) -> Place:
    mark = event.start_mark
    return (1, 1) if mark is None else (mark.line + 1, mark.column + 1)


def _syntax(text: str, error: yaml.MarkedYAMLError) -> Refused:
    mark = error.problem_mark or error.context_mark
    line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
    if line > text.count("\n") + 1:
        # The parser points behind the last line when something is left open.
        line, column = place_of(text, len(text))
    parts = [part for part in (error.context, error.problem) if part]
    return Refused(": ".join(parts), (line, column), _advice(text, line, column))


def _advice(text: str, line: int, column: int) -> str | None:
    """Return what to do about the best-known mistakes, or None."""
    lines = text.split("\n", line)
    shown = lines[line - 1] if line <= len(lines) else ""
    if shown[column - 1 : column] == "\t":
        return "indent with spaces, not with tabs"
    if "${{" in shown:
        return 'inside { } and [ ] a template stands in quotes: "${{ … }}"'
    if shown[column - 1 : column] == ":" and ": " in shown[:column]:
        return "a text that holds `: ` stands in quotes"
    if column > _KEY_CHARACTERS_MAX and ":" in shown[column - 2 : column]:
        return f"a key longer than {_KEY_CHARACTERS_MAX:,} characters starts with `? `"
    return None


def _first_line(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "the document is nested too deeply"
    return str(error).splitlines()[0] if str(error) else "the text is not YAML"
