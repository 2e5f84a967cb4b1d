"""The servers that an interchange document names, and the gates that they must pass.

Above: the interchange document. Below: nothing. Source: the agent-file specification, section 5.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentctl.jsonvalue import JsonValue

_ID: Final = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_TIERS: Final = frozenset({"first-party", "third-party-vetted", "third-party-untrusted"})
_TRANSPORTS: Final = frozenset({"stdio", "http"})
_EFFECTS: Final = frozenset({"read", "write", "destructive"})


def server_problems(server: JsonValue) -> list[str]:
    """Return what is wrong with a server."""
    if not isinstance(server, dict):
        return ["an object is needed"]
    return list(_problems(server))


def _problems(server: dict[str, Any]) -> Iterator[str]:
    if not _ID.fullmatch(str(server.get("server_id", ""))):
        yield f"server_id: {server.get('server_id')!r} is not written in lower case with dashes"
    tier, transport = server.get("trust_tier"), server.get("transport")
    if tier not in _TIERS:
        yield f"trust_tier: {tier!r} is not known"
    if transport not in _TRANSPORTS:
        yield f"transport: {transport!r} is not known"
    if transport == "http" and not isinstance(server.get("auth"), dict):
        yield "auth: a server that is reached by http needs it"
    listed = server.get("tools")
    tools = [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
    effects = {str(one.get("side_effects")) for one in tools}
    if effects - _EFFECTS:
        yield f"tools: side_effects {sorted(effects - _EFFECTS)} are not known"
    review = server.get("security_review")
    is_required = isinstance(review, dict) and review.get("required") is True
    if not is_required and (tier != "first-party" or "destructive" in effects):
        yield "security_review: required must be true for a third party or a destructive tool"
