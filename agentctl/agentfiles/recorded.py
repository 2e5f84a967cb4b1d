"""What a plan keeps of an agent file, and what differs when the file is read again.

Above: the compiler and the resuming of runs. Below: the agents. Pure: texts in, sentences out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from agentctl.agentfiles.capabilities import capabilities_of
from agentctl.agentfiles.interchange import grant_document
from agentctl.jsonvalue import digest_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentctl.agentfiles.agent import AgentFile
    from agentctl.jsonvalue import JsonObject, JsonValue

_SETS = (("powersLower", ""), ("extras", "beside "), ("limits", "the limit "))


def record_of(agent: AgentFile, path: str, digest: str) -> JsonObject:
    """Return what is kept: the file's path and digest, its grant with every place, its texts.

    `path` is relative to the workflow's folder, and `digest` that of the file's bytes.
    """
    tokens: list[JsonValue] = [
        {
            "text": one.text,
            "line": one.line,
            "column": one.column,
            "grants": [*one.scopes, *one.extras],
            "isDenied": one.is_denied,
        }
        for one in agent.grant.tokens
    ]
    return {
        "path": path,
        "digest": digest,
        "format": agent.format,
        "name": agent.name,
        "modelHint": agent.model,
        "instructionsDigest": digest_text(agent.instructions),
        "capabilities": [*capabilities_of(agent.grant)],
        "grant": {**grant_document(agent.grant), "tokens": tokens},
    }


def differences(before: JsonObject, after: JsonObject) -> list[str]:
    """Return what differs between two records, one phrase each; grants come first."""
    old, new = (cast("JsonObject", one["grant"]) for one in (before, after))
    found = [*_names(old, new)] or [*_powers(old, new)]
    if old["state"] != new["state"]:
        found.insert(0, f"its grant was {old['state']} and is {new['state']}")
    if before["instructionsDigest"] != after["instructionsDigest"]:
        found.append("its instructions changed")
    if before["modelHint"] != after["modelHint"]:
        names = [one["modelHint"] or "none" for one in (before, after)]
        found.append(f"its model was {names[0]} and is {names[1]}")
    return found or ["its text changed beside its grants, instructions and model"]


def _names(old: JsonObject, new: JsonObject) -> Iterator[str]:
    """Return the names that came and went, with their places."""
    had, has = _tokens(old), _tokens(new)
    for key, one in has.items():
        if key not in had:
            verb = "denies" if one["isDenied"] else "adds"
            yield f"it {verb} {_named(one)} at {_place(one)}"
    for key, one in had.items():
        if key not in has:
            verb = "no longer denies" if one["isDenied"] else "drops"
            yield f"it {verb} {_named(one)}, which stood at {_place(one)}"


def _powers(old: JsonObject, new: JsonObject) -> Iterator[str]:
    """Return what changed in a grant whose names are the same."""
    for key, what in _SETS:
        had, has = (cast("list[str]", one[key]) for one in (old, new))
        yield from (f"it adds {what}{one}" for one in has if one not in had)
        yield from (f"it drops {what}{one}" for one in had if one not in has)


def _tokens(grant: JsonObject) -> dict[tuple[str, bool], JsonObject]:
    tokens = cast("list[JsonObject]", grant["tokens"])
    return {(cast("str", one["text"]), one["isDenied"] is True): one for one in tokens}


def _named(token: JsonObject) -> str:
    grants = ", ".join(cast("list[str]", token["grants"]))
    return f"{token['text']} ({grants})" if grants else cast("str", token["text"])


def _place(token: JsonObject) -> str:
    return f"{token['line']}:{token['column']}"
