"""The seven functions of the capability map.

Above: `compat`. Below: the front-matter scanner. Their results are those of the library, with
what it drops, merges and misreads; each docstring names the faults.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, Literal

from agentctl.agentfiles.compat.front_matter import parse_yaml_front_matter
from agentctl.agentfiles.compat.recipe import UNPARSED
from agentctl.agentfiles.vocabulary import SCOPES, in_order

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

CANONICAL_TOOL_SCOPES: Final = SCOPES

_RESEARCH = "Bash(python -m agentteams.research:*)"
_CLAUDE = {
    "Read": "read",
    "Edit": "edit",
    "Write": "edit",
    "Grep": "search",
    "Glob": "search",
    "Bash": "execute",
    "TodoWrite": "todo",
    "Task": "agent",
    _RESEARCH: "retrieval",
}
_DEVELOPER = ("read", "edit", "search", "execute")
_GOOSE: dict[str, tuple[str, ...]] = {"developer": _DEVELOPER, "todo": ("todo",)}
_GOOSE_SEED = {**_GOOSE, "agentteams_readfs": ("read", "search")}
_TO_GOOSE = {**dict.fromkeys(_DEVELOPER, "developer"), "todo": "todo"}
_BRACKETS = re.compile(r"^tools:\s*\[([^\]]*)\]\s*$", re.MULTILINE)
_CLAUDE_LINE = re.compile(r"(?:tools|allowed-tools):\s*(.*)")


def canonical_tools_for_copilot_vscode(text: str) -> list[str] | None:
    """Return the scopes of the first bracket list behind `tools:` in column 0, or None.

    None is also the answer for an empty list, for unknown names alone, and for every shape but
    the bracket list. Text of a quoted value that stands in column 0 is taken as the key.
    """
    block, _ = parse_yaml_front_matter(text)
    found = _BRACKETS.search(block) if block else None
    if found is None:
        return None
    names = (one.strip().strip("'\"").strip().lower() for one in found[1].split(","))
    return list(in_order(names)) or None


def claude_allowed_tools_to_canonical(names: Iterable[object]) -> list[str]:
    """Return the scopes of Claude's tool names; unknown names are dropped without a word.

    A whole shell hides the scoped research command. A text is taken letter by letter.
    """
    found = in_order(_CLAUDE[name] for one in names if (name := str(one).strip()) in _CLAUDE)
    if "execute" in found:
        return [one for one in found if one != "retrieval"]
    return list(found)


def canonical_tools_for_claude(text: str) -> list[str] | None:
    """Return the scopes of the first `tools` or `allowed-tools` line without a bracket, or None.

    Nested keys and the text of block scalars are taken as the grant; a comma inside a specifier
    splits it; a comment sticks to the last name.
    """
    block, _ = parse_yaml_front_matter(text)
    for line in (block or "").splitlines():
        found = _CLAUDE_LINE.fullmatch(line.strip())
        if found is not None and "[" not in found[1]:
            return claude_allowed_tools_to_canonical(found[1].split(",")) or None
    return None


def goose_extensions_to_canonical(
    names: Iterable[object], *, edition: Literal["head", "seed"] = "head"
) -> list[str]:
    """Return the scopes of extension names; allowlists are not seen.

    The edition `seed` also knows `agentteams_readfs`, by its name alone.
    """
    table = _GOOSE if edition == "head" else _GOOSE_SEED
    return list(in_order(s for one in names for s in table.get(str(one).strip().lower(), ())))


def canonical_to_goose_extensions(scopes: Iterable[object]) -> list[str]:
    """Return the extensions for scopes, in order of first need.

    Reading alone brings the whole `developer`, which is how a conversion by it widens.
    """
    needed = (_TO_GOOSE.get(str(one).strip().lower()) for one in scopes)
    return list(dict.fromkeys(one for one in needed if one is not None))


def capabilities_from_tokens(scopes: Sequence[str] | None, framework: str) -> dict[str, list[str]]:
    """Return the `capabilities` of an interchange document; "none" and "unknown" become one."""
    del framework
    return {"tool_scopes": list(scopes)} if scopes else {}


def goose_grants_to_canonical(grants: Sequence[Mapping[str, Any]] | None) -> list[str]:
    """Return the scopes of what `recipe_extension_grants` returned.

    What cannot be read, and a missing key, count as the whole `developer`: wide, which is right
    for a target and wrong for a source. Names are compared as they are written.
    """
    if grants is None:
        return list(_DEVELOPER)
    return list(in_order(scope for entry in grants for scope in _entry_scopes(entry)))


def _entry_scopes(entry: Mapping[str, Any]) -> tuple[str, ...]:
    name, allowed = entry["name"], entry["available_tools"]
    if name == UNPARSED:
        return _DEVELOPER
    if name == "developer":
        return _developer_scopes(allowed) if allowed else _DEVELOPER
    if name == "analyze":
        return () if allowed and "analyze" not in allowed else ("read", "search")
    fixed = {"agentteams_readfs": ("read", "search"), "summon": ("agent",), "todo": ("todo",)}
    return fixed.get(name, ())


def _developer_scopes(allowed: Sequence[str]) -> tuple[str, ...]:
    found = ("edit",) if {"write", "edit"} & set(allowed) else ()
    if "shell" in allowed:
        return (*found, "execute")
    return found or (("search",) if "tree" in allowed else ())
