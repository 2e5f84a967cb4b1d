"""Codex agents: `.codex/agents/**/*.toml`.

Above: `reading`. Below: the names and the model. A file with an unknown key does not load. The
sandbox mode is a default, not a ceiling, and servers run outside it.
"""

from __future__ import annotations

import re
import tomllib
from typing import TYPE_CHECKING, Any, Final

from agentctl.agentfiles.model import Token
from agentctl.agentfiles.names import CODEX_MODES
from agentctl.limits import DOCUMENT_BYTES_MAX
from agentctl.suggest import did_you_mean
from agentctl.text.nodes import Refused

if TYPE_CHECKING:
    from agentctl.agentfiles.header import Place
    from agentctl.agentfiles.model import Draft, Grant

REQUIRED: Final = ("name", "description", "developer_instructions")
KEYS: Final = (
    *REQUIRED, "model", "model_reasoning_effort", "sandbox_mode", "mcp_servers", "web_search",
    "skills", "nickname_candidates",
)  # fmt: skip
_POSITION = re.compile(r"\(at line (\d+), column (\d+)\)")
_LIMITS = frozenset({"no-write", "no-network"})


def parse(text: str) -> dict[str, Any]:
    """Return the keys of a TOML text. Raises Refused."""
    if len(text) > DOCUMENT_BYTES_MAX:
        message = f"the file has {len(text):,} characters; at most {DOCUMENT_BYTES_MAX:,}"
        raise Refused(message, (1, 1))
    try:
        return tomllib.loads(text.removeprefix("\ufeff"))
    except (tomllib.TOMLDecodeError, RecursionError, ValueError) as error:
        found = _POSITION.search(str(error))
        place = (int(found[1]), int(found[2])) if found else (1, 1)
        raise Refused(_POSITION.sub("", str(error)).strip(), place) from None


def read(text: str, draft: Draft) -> Grant:
    """Return the grant of an agent. Raises Refused for a text that is not TOML."""
    keys = parse(text)
    strange = [key for key in keys if key not in KEYS]
    for key in strange:
        help = did_you_mean(key, KEYS)
        draft.note("unknown_key", f"{key!r} is no key of this host", place_of(text, key), help)
    missing = [key for key in REQUIRED if not isinstance(keys.get(key), str)]
    if strange or missing:
        why = f"{missing[0]} is missing" if missing else f"{strange[0]} is unknown"
        return draft.unreadable(f"{why}, so the file does not load", (1, 1))
    return _read_mode(text, keys, draft)


def _read_mode(text: str, keys: dict[str, Any], draft: Draft) -> Grant:
    _take_servers(text, keys, draft)
    place = place_of(text, "sandbox_mode")
    mode = keys.get("sandbox_mode")
    if mode is None:
        return draft.inherits("sandbox_mode is not set: the parent's mode", place)
    meaning = CODEX_MODES.get(mode) if isinstance(mode, str) else None
    if meaning is None:
        help = did_you_mean(str(mode), CODEX_MODES)
        return draft.unreadable(f"sandbox_mode {mode!r} is not known", place, help)
    draft.take(Token(mode, *place, *meaning))
    draft.limit(*(one for one in meaning[1] if one in _LIMITS))
    draft.note("not_enforced", "sandbox_mode is a default that a session may change", place)
    return draft.finish("listed")


def _take_servers(text: str, keys: dict[str, Any], draft: Draft) -> None:
    found = keys.get("mcp_servers")
    names = list(found) if isinstance(found, dict) else ["*"] if found else []
    for name in names:
        extra = "mcp:*" if name == "*" else f"mcp:{name}/*"
        place = place_of(text, f"mcp_servers.{name}", "mcp_servers")
        draft.take(Token(name, *place, (), (extra,)))
    search = keys.get("web_search")
    if search is not None and search not in (False, "disabled"):
        draft.take(Token("web_search", *place_of(text, "web_search"), (), ("web",)))
    if keys.get("skills"):
        draft.take(Token("skills", *place_of(text, "skills"), (), ("skill",)))


def place_of(text: str, *names: str) -> Place:
    """Return where a key or a table stands outside every string, or the start."""
    for name in names:
        pattern = rf"^[ \t]*(?:\[[ \t]*)?{re.escape(name)}(?=[\s.=\]])"
        for found in re.finditer(pattern, text, re.MULTILINE):
            if _is_outside(text[: found.start()]):
                return text.count("\n", 0, found.start()) + 1, 1
    return 1, 1


def _is_outside(before: str) -> bool:
    """Return whether a text ends between two statements."""
    try:
        tomllib.loads(before)
    except (tomllib.TOMLDecodeError, RecursionError):
        return False
    return True
