"""The lock file of packs: which bytes of which pack a workflow was checked with.

Above: reading lock files. Below: the field declarations. Data only.
Source: specification, section 1.1 (packs), and the lock file among its examples.
"""

from __future__ import annotations

from typing import Any, Literal

from attr import frozen

from agentctl.engine.document.fields import item
from agentctl.value import Value


@frozen(kw_only=True, eq=False, repr=False)
class LockedTrust(Value):
    """Who vouched for a pack when it was locked."""

    status: str = item("unsigned, or what the signature said.")
    key: str | None = item("Name of the publisher's key.", None)


@frozen(kw_only=True, eq=False, repr=False)
class LockedPack(Value):
    """One pack, exactly as it was found."""

    name: str = item("Dotted name.", minLength=1)
    version: str = item("The version that was chosen.")
    source: Any = item("Where it comes from.")
    integrity: str = item("Digest of the manifest.", pattern="^sha256:[0-9a-f]{64}$")
    compatibility: str | None = item("Compatible versions of agentctl.", None)
    dependencies: dict[str, str] = item("Chosen versions of what it needs.", factory=dict)
    trust: LockedTrust | None = item("Who vouched for it.", None)


@frozen(kw_only=True, eq=False, repr=False)
class PackLock(Value):
    """The lock file beside a workflow."""

    api_version: Literal["agentctl.dev/pack-lock/v1"] = item("Version.")
    agentctl: str | None = item("The version that wrote it.", None)
    packs: list[LockedPack] = item("The packs, dependencies included.", factory=list)
