"""The names with which each format can say a grant.

Above: the renderers. Below: the names and powers. For each scope the ways to say it stand in
order; the first with a name that the grant covers is taken, with all its names that are covered.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agentctl.agentfiles.names import CLAUDE, COPILOT, FACTORY, GEMINI, OPENCODE
from agentctl.agentfiles.powers import covered, powers_of

if TYPE_CHECKING:
    from agentctl.agentfiles.model import Format
    from agentctl.agentfiles.names import Meaning

_TABLES: Final[dict[str, dict[str, Meaning]]] = {
    "claude": CLAUDE,
    "copilot": COPILOT,
    "gemini": GEMINI,
    "opencode": OPENCODE,
    "factory": FACTORY,
}
_WAYS: Final[dict[str, tuple[tuple[str, ...], ...]]] = {
    "claude": (
        ("Read",),
        ("Edit Write",),
        ("Grep Glob",),
        ("Bash",),
        ("TodoWrite", "TodoRead"),
        ("Agent", "SendMessage"),
        ("WebFetch WebSearch",),
        ("Skill",),
        ("AskUserQuestion",),
    ),
    "copilot": (
        ("read", "read/problems"),
        ("edit", "edit/editFiles edit/createFile"),
        ("search", "search/textSearch search/fileSearch", "search/usages"),
        ("execute", "execute/getTerminalOutput"),
        ("todo",),
        ("agent",),
        ("web", "web/fetch", "githubRepo"),
        ("vscode/askQuestions",),
    ),
    "gemini": (
        ("read_file read_many_files",),
        ("replace write_file",),
        ("grep_search glob list_directory",),
        ("run_shell_command",),
        ("write_todos",),
        ("web_fetch google_web_search",),
        ("activate_skill",),
        ("ask_user",),
    ),
    "opencode": (
        ("read",),
        ("edit",),
        ("glob grep list",),
        ("bash",),
        ("todoread todowrite",),
        ("task",),
        ("webfetch websearch codesearch",),
        ("skill",),
        ("external_directory",),
    ),
    "factory": (
        ("Read",),
        ("Edit Create",),
        ("Grep Glob LS",),
        ("Execute",),
        ("TodoWrite",),
        ("Task",),
        ("FetchUrl WebSearch",),
    ),
}


def palette(format: Format, powers: frozenset[str], extras: frozenset[str]) -> list[str]:
    """Return the names of a format that say no more than some powers and extras."""
    have = covered(powers)
    found: list[str] = []
    for ways in _WAYS[format]:
        for way in ways:
            names = [name for name in way.split() if _fits(format, name, have, extras)]
            if names:
                found += names
                break
    return found


def _fits(format: Format, name: str, have: frozenset[str], extras: frozenset[str]) -> bool:
    key = name.lower() if format == "copilot" else name
    scopes, more = _TABLES[format][key]
    others = frozenset(more) - {"web"}
    return powers_of(format, name, scopes, more) <= have and others <= extras
