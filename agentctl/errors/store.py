"""The database could not keep its promise: exit code 5."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentctl.errors.base import AgentctlError

if TYPE_CHECKING:
    from collections.abc import Sequence


class StoreError(AgentctlError):
    """The database could not do what was asked; nothing half-written remains."""

    code = "store"
    exit_code = 5


class StoreBusy(StoreError):
    """Another writer held the database for longer than the bounded wait."""

    code = "store_busy"


class StoreCorrupt(StoreError):
    """The file is not a database of ours, or its history does not add up."""

    code = "store_corrupt"


class StoreFull(StoreError):
    """The disk is full; the last commit was not stored."""

    code = "store_full"


class StoreReadOnly(StoreError):
    """The database or its folder cannot be written."""

    code = "store_read_only"


class StoreUnsafe(StoreError):
    """The file system cannot keep SQLite's locking promises."""

    code = "store_unsafe"


class ArtifactDamaged(StoreError):
    """Bytes that a run refers to are missing or do not match their digest."""

    code = "artifact_integrity"
    digests: Sequence[str] = ()


class PortableDamaged(StoreError):
    """An exported run is not what was exported: something in it was changed or is missing."""

    code = "export_integrity"


class SchemaTooNew(StoreError):
    """A newer agentctl wrote this database."""

    code = "schema_too_new"


class StaleVersion(StoreError):
    """A record changed since it was read; nothing of this commit was stored."""

    code = "stale_version"
