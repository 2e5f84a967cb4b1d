"""The interchange document, version 2.0: agents of one host, for any other.

Above: the commands. Below: the agents and their grants. The scopes alone cannot say what a file
grants, so every agent also carries its whole grant under `grant`; a document without one is read
as it stands, and scopes that are missing are not known. Source: the agent-file specification,
section 5.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, cast

from attr import frozen

from agentctl.agentfiles.agent import AgentFile, Handoff
from agentctl.agentfiles.check import is_limit
from agentctl.agentfiles.mcp import server_problems
from agentctl.agentfiles.model import ALL, FORMATS, Grant, Problem
from agentctl.agentfiles.powers import scopes_of, whole
from agentctl.agentfiles.vocabulary import SCOPES
from agentctl.errors import InterchangeRefused
from agentctl.value import Value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentctl.agentfiles.model import Format
    from agentctl.jsonvalue import JsonObject, JsonValue

VERSION: Final = "2.0"
_SLUG: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
# The frameworks that the document has names for; the others are `canonical` there.
_FRAMEWORKS: Final[dict[str, str]] = {
    "claude": "claude",
    "copilot": "copilot-vscode",
    "goose": "goose",
    "codex": "codex",
    "agents-md": "agents-md",
}
_FORMATS: Final = {
    **{framework: format for format, framework in _FRAMEWORKS.items()},
    "copilot-cli": "copilot",
}
_KNOWN_FRAMEWORKS: Final = frozenset({*_FORMATS, "canonical"})
_TOOL_KEYS: Final = ("tools", "allowed-tools", "extensions", "permission", "sandbox_mode")


@frozen(eq=False, repr=False)
class Entry(Value):
    """One agent of a document, under its slug, and the file that it came from."""

    slug: str
    path: str
    agent: AgentFile


def export_document(
    entries: Sequence[Entry], *, created_at: str, instructions: tuple[str, str] = ("", "")
) -> JsonObject:
    """Return the document of some agents. Raises InterchangeRefused for unsafe or equal slugs.

    `created_at` is an ISO time; `instructions` are a file's name and its text.
    """
    problems = _slug_problems([one.slug for one in entries])
    if problems:
        raise InterchangeRefused(problems)
    formats = {one.agent.format for one in entries}
    framework = _FRAMEWORKS.get(formats.pop(), "canonical") if len(formats) == 1 else "canonical"
    agents: list[JsonValue] = [_exported(one) for one in entries]
    return {
        "schema_version": VERSION,
        "created_at": created_at,
        "source_framework": framework,
        "instructions_binding": {"source_name": instructions[0], "content": instructions[1]},
        "agents": agents,
        "skills": [],
        "mcp_servers": [],
        "framework_extensions": {},
    }


def _exported(entry: Entry) -> JsonObject:
    agent = entry.agent
    framework = _FRAMEWORKS.get(agent.format, "canonical")
    capabilities: JsonObject = {}
    if agent.grant.scopes_lower:
        capabilities["tool_scopes"] = [*agent.grant.scopes_lower]
    if agent.model is not None:
        capabilities["model_hint"] = agent.model
    raw = next((agent.raw[key] for key in _TOOL_KEYS if key in agent.raw), None)
    if raw is not None:
        capabilities["raw"] = {framework: raw}
    kept: JsonObject = {key: one for key, one in agent.raw.items() if key not in _TOOL_KEYS}
    handoffs: list[JsonValue] = [
        {"to": one.to, "label": one.label, "prompt": one.prompt, "send": one.send}
        for one in agent.handoffs
    ]
    return {
        "slug": entry.slug,
        "name": agent.name,
        "description": agent.description,
        "source_path": entry.path,
        "body_markdown": agent.instructions,
        "capabilities": capabilities,
        "handoffs": handoffs,
        "invariant_core_markdown": None,
        "raw_front_matter": kept,
        "grant": grant_document(agent.grant),
    }


def grant_document(grant: Grant) -> JsonObject:
    """Return a grant as JSON, all of it but the places."""
    upper = grant.powers_upper
    return {
        "format": grant.format,
        "state": grant.state,
        "powersLower": [*sorted(grant.powers_lower)],
        "powersUpper": ALL if upper == ALL else [*sorted(upper)],
        "extras": [*grant.extras],
        "limits": [*grant.limits],
    }


def import_document(document: JsonValue) -> tuple[Entry, ...]:
    """Return the agents of a document. Raises InterchangeRefused with every problem."""
    if not isinstance(document, dict):
        raise InterchangeRefused(["the document is not an object"])
    problems = _head_problems(document)
    listed = document.get("agents")
    agents = listed if isinstance(listed, list) else []
    for number, one in enumerate(agents):
        problems += [f"agents[{number}]: {told}" for told in _agent_problems(one)]
    servers = document.get("mcp_servers", [])
    for number, server in enumerate(servers if isinstance(servers, list) else []):
        problems += [f"mcp_servers[{number}]: {told}" for told in server_problems(server)]
    if not problems:
        read = [cast("dict[str, Any]", one) for one in agents]
        problems = _slug_problems([one["slug"] for one in read])
        if not problems:
            framework = str(document["source_framework"])
            return tuple(_imported(one, framework) for one in read)
    raise InterchangeRefused(problems)


def _head_problems(document: JsonObject) -> list[str]:
    found = []
    if document.get("schema_version") != VERSION:
        found.append(f"schema_version: {document.get('schema_version')!r} is not {VERSION!r}")
    if document.get("source_framework") not in _KNOWN_FRAMEWORKS:
        found.append(f"source_framework: {document.get('source_framework')!r} is not known")
    if not isinstance(document.get("created_at"), str):
        found.append("created_at: a time as text is needed")
    if not isinstance(document.get("agents"), list):
        found.append("agents: a list is needed")
    return found


def _agent_problems(agent: JsonValue) -> list[str]:
    if not isinstance(agent, dict):
        return ["an object is needed"]
    found = [
        f"{key}: a text is needed"
        for key in ("slug", "name", "body_markdown", "source_path")
        if not isinstance(agent.get(key), str)
    ]
    capabilities = agent.get("capabilities", {})
    scopes = capabilities.get("tool_scopes", []) if isinstance(capabilities, dict) else None
    if not isinstance(scopes, list) or not all(one in SCOPES for one in scopes):
        found.append(f"capabilities.tool_scopes: a list of {', '.join(SCOPES)} is needed")
    if "grant" in agent and _grant(agent["grant"]) is None:
        found.append("grant: it cannot be read")
    return found


def _slug_problems(slugs: list[str]) -> list[str]:
    unsafe = [one for one in slugs if not _SLUG.fullmatch(one) or ".." in one]
    twice = sorted({one for one in slugs if slugs.count(one) > 1})
    return [f"unsafe slug {one!r}" for one in unsafe] + [
        f"two agents have the slug {one!r}" for one in twice
    ]


def _imported(agent: dict[str, Any], framework: str) -> Entry:
    capabilities = agent.get("capabilities", {})
    grant = _grant_of(agent, capabilities.get("tool_scopes"), framework)
    raw = agent.get("raw_front_matter")
    read = AgentFile(
        format=grant.format,
        name=agent["name"],
        description=agent.get("description") or "",
        model=_text(capabilities.get("model_hint")),
        instructions=agent["body_markdown"],
        handoffs=_handoffs(agent.get("handoffs")),
        grant=grant,
        raw=raw if isinstance(raw, dict) else {},
    )
    return Entry(agent["slug"], agent["source_path"], read)


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _handoffs(listed: object) -> tuple[Handoff, ...]:
    found = [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
    return tuple(
        Handoff(
            str(one["to"]),
            _text(one.get("label")) or "",
            _text(one.get("prompt")) or "",
            one.get("send") is True,
        )
        for one in found
        if one.get("to")
    )


def _grant_of(agent: dict[str, Any], scopes: list[str] | None, framework: str) -> Grant:
    format = cast("Format", _FORMATS.get(framework, "claude"))
    told = _grant(agent["grant"]) if "grant" in agent else None
    if told is None:
        if scopes is None:
            return _unknown(format, "the document does not say what the agent may do")
        return Grant(
            format=format,
            state="listed" if scopes else "none",
            powers_lower=whole(scopes),
            powers_upper=whole(scopes),
        )
    if told.scopes_lower != scopes_of(whole(scopes or ())):
        return _unknown(told.format, "tool_scopes and grant say different things")
    return told


def _unknown(format: Format, message: str) -> Grant:
    problem = Problem("unreadable", message, 1, 1)
    return Grant(format=format, state="unreadable", powers_upper=ALL, problems=(problem,))


def _grant(value: object) -> Grant | None:
    """Return the grant that a document carries, or None when it cannot be read."""
    told = value if isinstance(value, dict) else {}
    lists = [_texts(told.get(key)) for key in ("powersLower", "extras", "limits")]
    upper = told.get("powersUpper")
    powers = ALL if upper == ALL else _texts(upper)
    is_known = told.get("format") in FORMATS and told.get("state") in (
        "listed", "none", "inherits", "unreadable",
    )  # fmt: skip
    lower, extras, limits = lists
    if not is_known or powers is None or lower is None or extras is None or limits is None:
        return None
    if not all(map(is_limit, limits)):
        return None
    return Grant(
        format=told["format"],
        state=told["state"],
        powers_lower=frozenset(lower),
        powers_upper=ALL if upper == ALL else frozenset(powers),
        extras=extras,
        limits=limits,
    )


def _texts(value: object) -> tuple[str, ...] | None:
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        return None
    return tuple(value)
