"""Servers and agents elsewhere that a workflow calls.

Above: the hints, when a document names one. Source: specification, section 1.1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from attr import frozen

from agentctl.engine.document.fields import item
from agentctl.engine.document.words import DAY_SECONDS
from agentctl.value import Value

if TYPE_CHECKING:
    from agentctl.engine.document.secret_model import Secret


@frozen(kw_only=True, eq=False, repr=False)
class McpServer(Value):
    """A server of the Model Context Protocol."""

    url: str = item("Address.")
    headers: dict[str, Secret] = item("Request headers.", factory=dict)
    timeout_seconds: int = item("Time.", 120, minimum=1, maximum=DAY_SECONDS)
    protocol_version: str = item("Version.", "2025-11-25")


@frozen(kw_only=True, eq=False, repr=False)
class A2aPeer(Value):
    """A remote agent."""

    card_url: str = item("Address of its card.")
    headers: dict[str, Secret] = item("Request headers.", factory=dict)
    timeout_seconds: int = item("Time.", 120, minimum=1, maximum=DAY_SECONDS)
    protocol_version: str = item("Version.", "1.0")
    max_polls: int = item("Observations.", 100, minimum=1)
    poll_interval_ms: int = item("Time between them.", 1000, minimum=1)
