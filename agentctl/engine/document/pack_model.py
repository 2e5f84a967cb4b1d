"""Packs: how a workflow names one, its manifest, and the lock file with the bytes that were checked.

Above: the hints and the reader, when there are packs. Below: the field declarations. Data only.
Source: specification, section 1.1 (packs), and the lock file among its examples.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from attr import frozen

from agentctl.engine.document.fields import item
from agentctl.engine.document.words import Json
from agentctl.value import Value

if TYPE_CHECKING:
    from agentctl.engine.document.agent_model import Agent, Tool
    from agentctl.engine.document.flow_model import Subworkflow
    from agentctl.engine.document.model import Action


@frozen(kw_only=True, eq=False, repr=False)
class PackReference(Value):
    """A pack that the workflow uses."""

    name: str = item("Dotted name.", minLength=1)
    version: str = item("Version range.")
    source: Json = item("Where it comes from: {path}, {git, …} or {archive, …}.", None)
    path: str | None = item("Older form of source.path.", None)
    integrity: str | None = item("sha256: digest of the manifest.", None)


@frozen(kw_only=True, eq=False, repr=False)
class PackDependency(Value):
    """A pack that another needs."""

    version: str = item("Version range.")
    source: Json = item("Where it comes from.")


@frozen(kw_only=True, eq=False, repr=False)
class PackManifest(Value):
    """A pack: actions, agents and workflows under one name and version."""

    api_version: Literal["agentctl.dev/pack/v1", "agentctl.dev/pack/v1alpha1"] = item("Version.")
    name: str = item("Dotted name.", minLength=1)
    version: str = item("Semantic version.")
    description: str | None = item("What it is for.", None)
    agentctl: str | None = item("Compatible versions of agentctl.", None)
    dependencies: dict[str, PackDependency] = item("Packs it needs.", factory=dict)
    capabilities: list[str] = item("What it needs.", factory=list)
    providers: list[str] = item("Provider kinds it needs.", factory=list)
    actions: dict[str, Action] = item("Actions by name.", factory=dict)
    agents: dict[str, Agent] = item("Agents by name.", factory=dict)
    tools: dict[str, Tool] = item("Tools by name.", factory=dict)
    workflows: dict[str, Subworkflow] = item("Workflows by name.", factory=dict)
    files: dict[str, str] = item("Digests of its files.", factory=dict)


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
    source: Json = item("Where it comes from.")
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
