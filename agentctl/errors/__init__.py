"""Every error that agentctl raises on purpose, in one tree.

The families answer the caller's question, and each has one exit code::

    AgentctlError
      UsageError            2   fix the command line or the call
      StateError            3   legal, but not now
      RunFailed             4   the run ended in failure
      StoreError            5   the database could not keep its promise
      PrerequisiteError     6   something outside is missing: a credential, a program
      RunCancelled        130   the run was cancelled
    Bug(RuntimeError)      70   an invariant broke; please report it

A code is stable: scripts may compare it. `docs/errors.md` explains each one.
"""

from __future__ import annotations

from agentctl.errors.base import (
    AgentctlError,
    Bug,
)
from agentctl.errors.run import (
    EffectError,
    HistoryDiffers,
    PrerequisiteError,
    RunCancelled,
    RunFailed,
    SecretMissing,
)
from agentctl.errors.state import (
    AgentFileChanged,
    AlreadyStarted,
    ApprovalExpired,
    ApprovalVoid,
    CompensationBlocked,
    ConfirmationRequired,
    EffectCertain,
    IllegalTransition,
    LeaseLost,
    PolicyPreflight,
    ProbeMissing,
    RecoveryBlocked,
    RequestAnswered,
    RunHeld,
    StateError,
    TerminalRequired,
    UncertainEffect,
    WorkflowChanged,
)
from agentctl.errors.store import (
    ArtifactDamaged,
    PortableDamaged,
    SchemaTooNew,
    StaleVersion,
    StoreBusy,
    StoreCorrupt,
    StoreError,
    StoreFull,
    StoreReadOnly,
    StoreUnsafe,
)
from agentctl.errors.usage import (
    CompensationRefused,
    DecisionsRefused,
    DocumentError,
    EvidenceRefused,
    InterchangeRefused,
    KeyReused,
    PortableRefused,
    ResultMissing,
    ResultRefused,
    SourceError,
    SourceMissing,
    StartKeyReused,
    UnknownApproval,
    UnknownArtifact,
    UnknownEffect,
    UnknownRequest,
    UnknownRun,
    UsageError,
    WideningRefused,
)

__all__ = [
    "AgentFileChanged",
    "AgentctlError",
    "AlreadyStarted",
    "ApprovalExpired",
    "ApprovalVoid",
    "ArtifactDamaged",
    "Bug",
    "CompensationBlocked",
    "CompensationRefused",
    "ConfirmationRequired",
    "DecisionsRefused",
    "DocumentError",
    "EffectCertain",
    "EffectError",
    "EvidenceRefused",
    "HistoryDiffers",
    "IllegalTransition",
    "InterchangeRefused",
    "KeyReused",
    "LeaseLost",
    "PolicyPreflight",
    "PortableDamaged",
    "PortableRefused",
    "PrerequisiteError",
    "ProbeMissing",
    "RecoveryBlocked",
    "RequestAnswered",
    "ResultMissing",
    "ResultRefused",
    "RunCancelled",
    "RunFailed",
    "RunHeld",
    "SchemaTooNew",
    "SecretMissing",
    "SourceError",
    "SourceMissing",
    "StaleVersion",
    "StartKeyReused",
    "StateError",
    "StoreBusy",
    "StoreCorrupt",
    "StoreError",
    "StoreFull",
    "StoreReadOnly",
    "StoreUnsafe",
    "TerminalRequired",
    "UncertainEffect",
    "UnknownApproval",
    "UnknownArtifact",
    "UnknownEffect",
    "UnknownRequest",
    "UnknownRun",
    "UsageError",
    "WideningRefused",
    "WorkflowChanged",
]
