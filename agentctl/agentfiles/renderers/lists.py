"""Markdown formats that list tools: Claude, Copilot, Gemini, OpenCode, Factory.

Above: `rendering`. Below: the palette and quoting. A name is written only if its format reads it
as what was meant.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from agentctl.agentfiles.check import limits_server, targets
from agentctl.agentfiles.names import COPILOT_SETS, OPENCODE
from agentctl.agentfiles.palette import palette
from agentctl.agentfiles.quoting import quoted
from agentctl.agentfiles.readers.common import NAME
from agentctl.agentfiles.renderers.common import allowed_powers
from agentctl.errors import WideningRefused

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agentctl.agentfiles.agent import AgentFile, Handoff
    from agentctl.agentfiles.model import Format

_GEMINI_NAME: Final = re.compile(r"[^a-z0-9_-]+")
_DISPATCH: Final = frozenset({"Agent", "agent", "task", "Task"})


def claude(agent: AgentFile) -> str:
    """Return a Claude Code subagent."""
    names = [*_names(agent, "claude", roster="Agent"), *_claude_servers(agent)]
    if not names:
        raise WideningRefused("claude has no way to say that an agent has no tools")
    keys = [("name", quoted(agent.name)), ("description", quoted(agent.description))]
    return _markdown([*keys, ("tools", ", ".join(names)), *_model(agent, "claude")], agent)


def copilot(agent: AgentFile) -> str:
    """Return a custom agent of Copilot and VS Code."""
    names = _names(agent, "copilot", roster="agent")
    servers = [
        f"{server}/{tool}"
        for server, tool in _servers(agent)
        if server.lower() not in COPILOT_SETS
    ]
    keys = [
        ("name", quoted(agent.name)),
        ("description", quoted(agent.description)),
        ("tools", _flow([*names, *servers])),
        *_model(agent, "copilot"),
    ]
    roster = targets(agent.grant, surely=True)
    if "agent" in names and "*" not in roster:
        keys.append(("agents", _flow(sorted(roster))))
    return _markdown(keys, agent, "".join(_handoffs(agent.handoffs)))


def gemini(agent: AgentFile) -> str:
    """Return a Gemini CLI subagent."""
    names = _names(agent, "gemini")
    # With one underscore between server and tool, a name with another one is open.
    names += [
        f"mcp_{server}_{tool}" for server, tool in _servers(agent) if "_" not in server + tool
    ]
    if not names:
        raise WideningRefused("gemini has no way to say that an agent has no tools")
    name = _GEMINI_NAME.sub("-", agent.name.lower()).strip("-") or "agent"
    keys = [("name", quoted(name)), ("description", quoted(agent.description))]
    return _markdown([*keys, ("tools", _flow(names)), *_model(agent, "gemini")], agent)


def opencode(agent: AgentFile) -> str:
    """Return an OpenCode subagent: everything is denied first, then the grant allowed."""
    names = _names(agent, "opencode")
    rules = "".join(f"\n  {name}: allow" for name in OPENCODE if name in names)
    keys = [
        ("description", quoted(agent.description)),
        ("mode", "subagent"),
        *_model(agent, "opencode"),
        ("permission", f'\n  "*": deny{rules}'),
    ]
    return _markdown(keys, agent)


def factory(agent: AgentFile) -> str:
    """Return a Factory droid."""
    names = _names(agent, "factory")
    if not names:
        raise WideningRefused("factory has no way to say that an agent has no tools")
    keys = [("name", quoted(agent.name)), ("description", quoted(agent.description))]
    return _markdown([*keys, ("tools", _flow(names)), *_model(agent, "factory")], agent)


def _names(agent: AgentFile, format: Format, *, roster: str = "") -> list[str]:
    """Return the names of a format for a grant; `roster` is the one that may list targets."""
    found = palette(format, allowed_powers(agent.grant), frozenset(agent.grant.extras))
    named = targets(agent.grant, surely=True)
    if "*" in named or not named:
        return found
    can_say = roster and all(NAME.fullmatch(one) for one in named)
    if not can_say:
        return [name for name in found if name not in _DISPATCH]
    if format != "claude":
        return found
    written = f"{roster}({', '.join(sorted(named))})"
    return [written if name == roster else name for name in found]


def _servers(agent: AgentFile) -> list[tuple[str, str]]:
    """Return the servers and tools of a grant whose names can be written."""
    found = []
    for extra in agent.grant.extras:
        server, _, tool = extra.removeprefix("mcp:").partition("/")
        is_named = NAME.fullmatch(server) and (tool == "*" or NAME.fullmatch(tool))
        is_whole = not any(limits_server(one, extra) for one in agent.grant.limits)
        if extra.startswith("mcp:") and is_named and is_whole:
            found.append((server, tool))
    return found


def _claude_servers(agent: AgentFile) -> list[str]:
    return [
        f"mcp__{server}" if tool == "*" else f"mcp__{server}__{tool}"
        for server, tool in _servers(agent)
        if "__" not in server and not server.endswith("_") and not tool.startswith("_")
    ]


def _model(agent: AgentFile, format: Format) -> list[tuple[str, str]]:
    """Return the model, whose name means something on its own host alone."""
    if agent.model is None or agent.format != format:
        return []
    return [("model", quoted(agent.model))]


def _flow(names: Iterable[str]) -> str:
    return "[" + ", ".join(quoted(name) for name in names) + "]"


def _handoffs(handoffs: tuple[Handoff, ...]) -> Iterable[str]:
    if handoffs:
        yield "handoffs:\n"
    for one in handoffs:
        yield f"  - label: {quoted(one.label)}\n    agent: {quoted(one.to)}\n"
        yield f"    prompt: {quoted(one.prompt)}\n    send: {str(one.send).lower()}\n"


def _markdown(keys: list[tuple[str, str]], agent: AgentFile, more: str = "") -> str:
    head = "".join(
        f"{key}:{value}\n" if value.startswith("\n") else f"{key}: {value}\n"
        for key, value in keys
    )
    return f"---\n{head}{more}---\n{agent.instructions}"
