"""The line reader of goose recipes: which extensions a recipe loads, with their allowlists.

Above: the capability map. Below: nothing. It reads lines, not YAML: what it does not know becomes
`<unparsed>`, and an allowlist that it cannot read counts as none, which means every tool.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from attr import define, field

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

UNPARSED: Final = "<unparsed>"
UNREADABLE_KEY: Final = "<unreadable-key>"
DEVELOPER_TOOLS: Final = frozenset({"write", "edit", "shell", "tree"})

_HEAD = re.compile(r"extensions:(.*)")
_DASH = re.compile(r"([ \t]*)-[ \t]+(\S.*)")
_DASH_LINE = re.compile(r"([ \t]*)-(?:[ \t].*)?")
_KEY = re.compile(r"([A-Za-z_][\w.-]*)([ \t]*):(?:[ \t]+(.*)|)")
_FLOW = re.compile(r"\[([^\]#]*)[\]#]")
_ARGUMENTS = re.compile(r"\[([^\]'\"]*)\](?:[ \t]+#.*)?")
_COMMENT = re.compile(r"(?:^|[ \t])#.*")


@define
class _Pair:
    """A key of an entry with its value, and the lines below it."""

    key: str
    value: str | None
    below: list[str] = field(factory=list)


def recipe_extension_grants(recipe_text: str) -> list[dict[str, Any]] | None:
    """Return the entries of `extensions` in column 0.

    None: the key is missing, null, or without an item, so the user's own extensions load. Every
    other shape that is not a block list is one entry `<unparsed>`. In an entry
    `available_tools: None` means every tool.
    """
    lines = recipe_text.splitlines()
    heads = [(n, found[1]) for n, one in enumerate(lines) if (found := _HEAD.fullmatch(one))]
    if not heads:
        return None
    number, rest = heads[0]
    value = _COMMENT.sub("", rest).strip()
    if len(heads) > 1 or value not in ("", "null", "~", "[]"):
        return [{"name": UNPARSED, "available_tools": None}]
    if value:
        return [] if value == "[]" else None
    return [_entry(item) for item in _items(_block(lines[number + 1 :]))] or None


def developer_tools(entries: Sequence[Mapping[str, Any]]) -> set[str]:
    """Return the tools of `developer` that some entries open; `<unparsed>` opens all of them."""
    found: set[str] = set()
    for entry in entries:
        allowed = entry["available_tools"]
        if entry["name"] == UNPARSED or (entry["name"] == "developer" and allowed is None):
            found |= DEVELOPER_TOOLS
        elif entry["name"] == "developer":
            found |= DEVELOPER_TOOLS & set(allowed)
    return found


def _block(lines: list[str]) -> Iterator[str]:
    """Yield the lines of the list, without blank ones and comments."""
    for line in lines:
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        if not line.startswith((" ", "\t", "- ")) and line != "-":
            return
        yield line


def _items(lines: Iterator[str]) -> list[list[str]]:
    """Return the lines of each item, its dash written as a blank."""
    items: list[list[str]] = []
    indent: str | None = None
    for line in lines:
        dash = _DASH_LINE.fullmatch(line)
        if dash is not None and indent is None:
            indent = dash[1]
        item = _DASH.fullmatch(line)
        if item is not None and item[1] == indent:
            items.append([f"{item[1]} {line[item.end(1) + 1 :]}"])
        elif items:
            items[-1].append(line)
    return items


def _entry(lines: list[str]) -> dict[str, Any]:
    pairs = _pairs(lines)
    keys = [pair.key for pair in pairs]
    once = {pair.key: pair for pair in pairs if keys.count(pair.key) == 1}
    read = {key: pair for key, pair in once.items() if pair.value is not None}
    return {
        "name": _text(read.get("name")) or UNPARSED,
        "available_tools": _allowed(read.get("available_tools")),
        "type": _text(read.get("type")) or "",
        "cmd": _text(read.get("cmd")),
        "args": _arguments(read.get("args")),
        "keys": keys,
    }


def _pairs(lines: list[str]) -> list[_Pair]:
    """Return the keys in the item's own column, with the lines below each."""
    pairs: list[_Pair] = []
    own = _column(lines[0])
    for line in lines:
        if _column(line) != own or (pairs and line.lstrip().startswith("- ")):
            pairs[-1].below.append(line)
            continue
        found = _KEY.fullmatch(line[own:].lstrip())
        if found is None:
            pairs.append(_Pair(UNREADABLE_KEY, None))
        else:
            pairs.append(_Pair(found[1], None if found[2] else found[3] or ""))
    return pairs


def _column(line: str) -> int:
    return len(line) - len(line.lstrip(" -"))


def _text(pair: _Pair | None) -> str | None:
    return None if pair is None else _scalar(pair.value or "")


def _scalar(value: str) -> str:
    value = value.strip()
    if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"":
        return value[1:-1]
    return _COMMENT.sub("", value).strip()


def _allowed(pair: _Pair | None) -> list[str] | None:
    found = _FLOW.match(pair.value.strip()) if pair and pair.value else None
    if found is None:
        return None
    names = (one.strip().strip("'\"") for one in found[1].split(","))
    return [one for one in names if one] or None


def _arguments(pair: _Pair | None) -> list[str] | None:
    if pair is None:
        return None
    value = _COMMENT.sub("", pair.value or "").strip()
    if not value:
        items = [line.lstrip()[2:] for line in pair.below if line.lstrip().startswith("- ")]
        return [_scalar(one) for one in items] or None
    found = _ARGUMENTS.fullmatch(value)
    return None if found is None else [one.strip() for one in found[1].split(",") if one.strip()]
