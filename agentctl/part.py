"""What `Engine` gives to each of its parts.

Above: the parts that `agentctl.door` puts together. Below: the store.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agentctl.store.sqlite import SqliteStore


class Part:
    """A part of `Engine`, which alone is ever made."""

    @property
    def store(self) -> SqliteStore:
        """The database; the engine opens it."""
        raise NotImplementedError
