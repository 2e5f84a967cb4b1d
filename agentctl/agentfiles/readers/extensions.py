"""What goose extensions grant, to two bounds.

Above: the recipe reader. Below: the model. The table is that of the specification, section 4,
and its open questions are decided here: see docs/agent-files.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from attr import frozen

from agentctl.agentfiles.model import Token
from agentctl.agentfiles.powers import powers_of
from agentctl.value import Value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentctl.agentfiles.header import Place
    from agentctl.agentfiles.model import Draft
    from agentctl.agentfiles.readers.common import Written

# An allowlist that matches nothing; the name is only a custom.
NOTHING: Final = "__none__"
DEVELOPER: Final[dict[str, tuple[str, ...]]] = {
    "write": ("edit",),
    "edit": ("edit",),
    "shell": ("execute",),
    "tree": ("search",),
}
READFS: Final[dict[str, tuple[str, ...]]] = {
    "read_file": ("read",),
    "list_dir": ("search",),
    "find": ("search",),
    "grep": ("search",),
    "stat": ("search",),
}
READFS_COMMAND: Final = "python3"
READFS_ARGUMENTS: Final = tuple(
    ("-I", "-S", script, "--root", ".")
    for script in ("scripts/goose-readfs-mcp.py", ".agentteams/bin/goose-readfs-mcp.py")
)
_READFS_KEYS: Final = frozenset(
    {"type", "name", "cmd", "args", "timeout", "available_tools", "bundled", "description"}
)
_SHIPPED: Final[dict[str, dict[str, tuple[str, ...]]]] = {
    "developer": DEVELOPER,
    "analyze": {"analyze": ("read", "search")},
    "summon": {"delegate": ("agent",), "load": ("agent",)},
    "todo": {"todo_write": ("todo",), "todo_read": ("todo",)},
}
_UNSCOPED: Final = {"developer": ("read", "edit", "search", "execute")}
_SHIPPED_TYPES: Final = frozenset({"builtin", "platform"})
# They run code, start other runs, or enable other extensions: what they open cannot be told.
_FAR_REACHING: Final = frozenset(
    {"code_execution", "extensionmanager", "computercontroller", "scheduler"}
)
_SERVER_TYPES: Final = frozenset({"stdio", "streamable_http", "sse", "builtin", "platform"})


@frozen(kw_only=True, eq=False, repr=False)
class Extension(Value):
    """One entry of `extensions`; no list of tools means all of them.

    `arguments` is None where they cannot be read; `keys` are the keys that hold something.
    """

    name: str
    type: str
    tools: tuple[Written, ...] | None
    command: str | None
    arguments: tuple[str, ...] | None
    keys: frozenset[str]
    place: Place


def take_extensions(draft: Draft, extensions: Sequence[Extension | None]) -> None:
    """Take all extensions of a recipe; None is one that cannot be read."""
    known = [one for one in extensions if one is not None]
    names = [one.name for one in known]
    for one in extensions:
        if one is None:
            draft.is_open = True
            draft.note("doubtful", "an extension entry could not be read", (1, 1))
        elif names.count(one.name) > 1:
            _open(draft, one, f"{one.name}: two entries have this name; one may hide the other")
        else:
            _take(draft, one)
    developer = next((one for one in known if _is_shipped(one, "developer")), None)
    if developer is not None and not any(one.name == "analyze" for one in known):
        draft.upper |= powers_of("goose", "analyze", ())
        draft.note(
            "doubtful",
            "analyze is added beside developer unless it is listed with an allowlist that "
            "matches nothing",
            developer.place,
        )


def _is_shipped(one: Extension, name: str) -> bool:
    return one.name == name and one.type in _SHIPPED_TYPES


def _take(draft: Draft, one: Extension) -> None:
    if one.name == "agentteams_readfs":
        _take_readfs(draft, one)
    elif one.name in _SHIPPED:
        if one.type in _SHIPPED_TYPES:
            _take_shipped(draft, one, _SHIPPED[one.name])
        else:
            _open(
                draft,
                one,
                f"{one.name}: type {one.type} is not the shipped builtin; another program may "
                "run under this name",
            )
    elif one.name in _FAR_REACHING or one.type not in _SERVER_TYPES:
        _open(draft, one, _unmapped(one))
    else:
        tools = [tool.text for tool in one.tools or () if tool.text != NOTHING]
        names = tools if one.tools else ["*"]
        extras = tuple(f"mcp:{one.name}/{tool}" for tool in names)
        draft.take(Token(one.name, *one.place, (), extras))
        draft.note("doubtful", _unmapped(one), one.place)


def _unmapped(one: Extension) -> str:
    return f"{one.name}: unmapped extension; grants come from the target configuration"


def _open(draft: Draft, one: Extension, message: str) -> None:
    draft.tokens.append(Token(one.name, *one.place, is_known=False))
    draft.is_open = True
    draft.note("doubtful", message, one.place)


def _take_readfs(draft: Draft, one: Extension) -> None:
    is_pinned = (
        one.type == "stdio"
        and one.command == READFS_COMMAND
        and one.arguments in READFS_ARGUMENTS
        and one.keys <= _READFS_KEYS
    )
    if is_pinned:
        _take_shipped(draft, one, READFS)
    else:
        _open(
            draft,
            one,
            f"{one.name}: not shown to launch the shipped server (trusted by name only)",
        )


def _take_shipped(draft: Draft, one: Extension, table: dict[str, tuple[str, ...]]) -> None:
    if not one.tools:
        every = tuple({scope for scopes in table.values() for scope in scopes})
        draft.take(Token(one.name, *one.place, _UNSCOPED.get(one.name, every)))
        return
    strange = [one for one in one.tools if one.text not in table and one.text != NOTHING]
    if one.name == "analyze":
        # It has a single tool, so any other name matches nothing.
        strange = []
    for tool in one.tools:
        scopes = table.get(tool.text)
        if scopes is not None:
            draft.take(Token(f"{one.name}:{tool.text}", *tool.place, scopes))
        elif tool not in strange:
            draft.tokens.append(Token(f"{one.name}:{tool.text}", *tool.place, is_denied=True))
    _take_strange(draft, one.name, strange)


def _take_strange(draft: Draft, name: str, tools: Sequence[Written]) -> None:
    if tools:
        names = ", ".join(tool.text for tool in tools)
        message = f"{name}: tools outside the pinned map: {names}"
        draft.note("unknown_tool", message, tools[0].place)
    for tool in tools:
        extras = (f"goose:{name}/{tool.text}",)
        draft.take(Token(f"{name}:{tool.text}", *tool.place, (), extras, is_known=False))
