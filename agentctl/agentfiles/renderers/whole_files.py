"""Formats with a way of their own to bound an agent: Cursor, Codex, goose.

Above: `rendering`. Below: the powers and quoting.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agentctl.agentfiles.check import targets
from agentctl.agentfiles.names import CODEX_MODES
from agentctl.agentfiles.powers import covered, powers_of, whole
from agentctl.agentfiles.quoting import quoted, toml_block, yaml_block
from agentctl.agentfiles.readers.extensions import (
    DEVELOPER,
    NOTHING,
    READFS,
    READFS_ARGUMENTS,
    READFS_COMMAND,
)
from agentctl.agentfiles.renderers.common import allowed_powers
from agentctl.errors import WideningRefused

if TYPE_CHECKING:
    from agentctl.agentfiles.agent import AgentFile
    from agentctl.agentfiles.model import Grant

_READFS_TIMEOUT_SECONDS: Final = 300
_BOUNDS: Final = frozenset({"no-write", "no-network"})


def cursor(agent: AgentFile) -> str:
    """Return a Cursor agent, which can only be bound to reading."""
    if not whole(("read", "search")) <= covered(agent.grant.powers_lower):
        raise WideningRefused("cursor grants reading and searching at least")
    keys = f"name: {quoted(agent.name)}\ndescription: {quoted(agent.description)}\n"
    return f"---\n{keys}readonly: true\n---\n{agent.instructions}"


def codex(agent: AgentFile) -> str:
    """Return a Codex agent in the widest sandbox mode that the grant covers."""
    mode = _codex_mode(agent.grant)
    model = ""
    if agent.format == "codex" and agent.model is not None:
        model = f"model = {quoted(agent.model)}\n"
    return (
        f"name = {quoted(agent.name)}\n"
        f"description = {quoted(agent.description)}\n"
        f"{model}"
        f"sandbox_mode = {quoted(mode)}\n"
        f"developer_instructions = {toml_block(agent.instructions)}\n"
    )


def _codex_mode(grant: Grant) -> str:
    have, extras = covered(grant.powers_lower), frozenset(grant.extras)
    kept = frozenset(grant.limits)
    for mode, (scopes, more) in reversed(CODEX_MODES.items()):
        said = frozenset(more)
        needed = whole((*scopes, *said))
        if needed <= have and said - _BOUNDS - {"web"} <= extras and kept <= said:
            return mode
    raise WideningRefused("codex grants reading, searching and running commands at least")


def goose(agent: AgentFile) -> str:
    """Return a goose recipe whose extensions are all listed, with their tools."""
    body = agent.instructions
    return (
        'version: "1.0.0"\n'
        f"title: {quoted(agent.name)}\n"
        f"description: {quoted(agent.description)}\n"
        f"instructions: {yaml_block(body)}\n"
        f"extensions:{_goose_extensions(agent.grant)}\n"
    )


def _goose_extensions(grant: Grant) -> str:
    have = covered(allowed_powers(grant))
    parts = []
    readfs = _covered_tools("agentteams_readfs", READFS, have)
    if readfs:
        parts.append(_readfs(readfs))
    developer = [one for one in _covered_tools("developer", DEVELOPER, have) if one != "tree"]
    if developer:
        parts.append(_shipped("builtin", "developer", developer))
        # Goose adds it beside `developer`, where it reads without bounds.
        parts.append(_shipped("platform", "analyze", [NOTHING]))
    if "todo.write" in have:
        parts.append(_shipped("platform", "todo", []))
    if "agent.start" in have and "*" in targets(grant, surely=True):
        parts.append(_shipped("platform", "summon", ["delegate", "load"]))
    return "".join(parts) or " []"


def _covered_tools(
    name: str, tools: dict[str, tuple[str, ...]], have: frozenset[str]
) -> list[str]:
    return [
        tool
        for tool, scopes in tools.items()
        if powers_of("goose", f"{name}:{tool}", scopes) <= have
    ]


def _shipped(kind: str, name: str, tools: list[str]) -> str:
    allowed = f"\n    available_tools: [{', '.join(tools)}]" if tools else ""
    return f"\n  - type: {kind}\n    name: {name}{allowed}"


def _readfs(tools: list[str]) -> str:
    arguments = "".join(f"\n      - {quoted(one)}" for one in READFS_ARGUMENTS[0])
    return (
        "\n  - type: stdio\n    name: agentteams_readfs"
        f"\n    cmd: {READFS_COMMAND}\n    args:{arguments}"
        f"\n    timeout: {_READFS_TIMEOUT_SECONDS}"
        f"\n    available_tools: [{', '.join(tools)}]"
    )
