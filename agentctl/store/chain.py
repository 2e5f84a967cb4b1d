"""The digest chain of a run's journal.

Each transition's digest covers its predecessor's and every column of its own, so no row can be
changed, removed or put in between without breaking every digest after it.
"""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agentctl.engine.records import Transition

GENESIS = bytes(32)


def link(
    previous: bytes, sequence: int, move: Transition, detail: str | None, checkpoint: int | None
) -> bytes:
    """Return the digest of one transition, 32 bytes; `detail` is its stored text."""
    fields = (
        f"{sequence}\x1f{checkpoint}\x1f{move.machine}\x1f{move.entity}\x1f{move.version}\x1f{move.source}\x1f"
        f"{move.event}\x1f{move.target}\x1f{move.at}\x1f{_sized(move.actor)}{_sized(detail)}"
    )
    return sha256(previous + fields.encode("utf-8", "surrogatepass")).digest()


def _sized(text: str | None) -> str:
    """Return a text with its length, so that two columns cannot trade characters."""
    return "-" if text is None else f"{len(text)}:{text}"
