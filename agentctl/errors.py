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

from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentctl.diagnostics import Diagnostic
    from agentctl.jsonvalue import JsonObject, JsonValue


class AgentctlError(Exception):
    """Base of all deliberate errors: a message, a stable code, an exit code and a next step."""

    code: ClassVar[str] = "error"
    exit_code: ClassVar[int] = 1

    def __init__(
        self, message: str, *, help: str | None = None, run_id: str | None = None
    ) -> None:
        self.message = message
        self.help = help
        self.run_id = run_id
        super().__init__(message)


class UsageError(AgentctlError):
    """The command line or the call is wrong."""

    code = "usage"
    exit_code = 2


class DocumentError(UsageError):
    """A document does not compile; `diagnostics` names every problem with its place."""

    code = "invalid_document"

    def __init__(self, diagnostics: Sequence[Diagnostic]) -> None:
        self.diagnostics = tuple(diagnostics)
        first = self.diagnostics[0].message if self.diagnostics else "invalid document"
        more = len(self.diagnostics) - 1
        super().__init__(first + (f" (and {more} more)" if more > 0 else ""))


class SourceError(UsageError):
    """A file that a document or the command line names cannot be captured."""

    code = "source_error"


class SourceMissing(SourceError):
    """A file that a document names does not exist."""


class UnknownRun(UsageError):
    """No run has this id."""

    code = "unknown_run"


class StartKeyReused(UsageError):
    """A start key names a run of another workflow, other inputs or other variables."""

    code = "start_key_reused"


class PortableRefused(UsageError):
    """A file is no exported run, or one that cannot be taken in here."""

    code = "invalid_export"


class UnknownApproval(UsageError):
    """No question to a person has this id."""

    code = "unknown_approval"


class UnknownArtifact(UsageError):
    """No artifact has this digest."""

    code = "unknown_artifact"


class UnknownEffect(UsageError):
    """No effect has this id or name, or more than one begins like it."""

    code = "unknown_effect"


class ResultMissing(UsageError):
    """An effect that was applied needs the result that the run would have got."""

    code = "result_missing"


class ResultRefused(UsageError):
    """A given result does not fit what the effect's operation returns; every problem is named."""

    code = "invalid_result"


class EvidenceRefused(UsageError):
    """An evidence, result or schema file cannot be read, or is too large."""

    code = "invalid_evidence"


class CompensationRefused(UsageError):
    """What is said to have undone an effect cannot have done so."""

    code = "invalid_compensation"


class DecisionsRefused(UsageError):
    """Some of several findings cannot be recorded, so none was; `problems` has each by place."""

    code = "invalid_decisions"

    def __init__(
        self, problems: Sequence[tuple[int, AgentctlError]], *, run_id: str | None = None
    ) -> None:
        self.problems = tuple(problems)
        told = "; ".join(f"{place + 1}: {error.message}" for place, error in self.problems)
        super().__init__(f"nothing was recorded; finding {told}", run_id=run_id)


class WideningRefused(UsageError):
    """An agent would get more than its file surely grants, or the format cannot say less."""

    code = "would_widen"


class InterchangeRefused(UsageError):
    """An interchange document cannot be used; `problems` has each by its path."""

    code = "invalid_interchange"

    def __init__(self, problems: Sequence[str]) -> None:
        self.problems = tuple(problems)
        super().__init__("; ".join(self.problems))


class StateError(AgentctlError):
    """The request is legal, but not in the present state."""

    code = "not_now"
    exit_code = 3


class AlreadyStarted(StateError):
    """A run was started under this key before; `run_id` is that run."""

    code = "already_started"


class IllegalTransition(StateError):
    """The machine declares no such move."""

    code = "illegal_transition"

    def __init__(self, machine: str, state: str, event: str, legal: Sequence[str]) -> None:
        self.machine, self.state, self.event, self.legal = machine, state, event, tuple(legal)
        allowed = ", ".join(self.legal) or "none"
        super().__init__(f"{machine}: {event!r} is not legal in {state!r}; legal: {allowed}")


class RunHeld(StateError):
    """Another live process owns the run."""

    code = "run_held"


class LeaseLost(StateError):
    """Another process took the run over; nothing of this commit was stored."""

    code = "lease_lost"


class UncertainEffect(StateError):
    """An effect may have happened, and only a reconciliation can say so."""

    code = "uncertain_effect"


class RecoveryBlocked(StateError):
    """Something stands against a derived run; `plan` is the whole plan, as `--plan` shows it."""

    code = "recovery_blocked"

    def __init__(self, plan: JsonObject, run_id: str) -> None:
        self.plan = plan
        words = _obstacles(plan["blockedReuse"])
        super().__init__(words, help="the same command with --plan shows all of it", run_id=run_id)


class CompensationBlocked(StateError):
    """A run cannot be compensated now; `plan` is the whole plan, as `--plan` shows it."""

    code = "compensation_blocked"

    def __init__(self, plan: JsonObject, run_id: str) -> None:
        self.plan = plan
        words = _obstacles(plan["blocked"])
        told = words or f"nothing of run {run_id} is left to undo"
        help = f"`agentctl compensate {run_id} --plan` shows all of it"
        super().__init__(told, help=help, run_id=run_id)


class EffectCertain(StateError):
    """The ledger itself says what became of the effect, so nothing is left to find out."""

    code = "effect_certain"


class ConfirmationRequired(StateError):
    """The policy asks a person about effects of this class, and none confirmed the finding."""

    code = "confirmation_required"


class TerminalRequired(StateError):
    """A question can only be asked on a terminal; the help says how to do without one."""

    code = "terminal_required"


class ProbeMissing(StateError):
    """No probe is declared for the effect."""

    code = "no_probe"


class ApprovalExpired(StateError):
    """A question was not answered in time, so it cannot be answered any more."""

    code = "approval_expired"


class ApprovalVoid(StateError):
    """What a question asked about is not what is recorded now, so no answer allows it."""

    code = "approval_void"


class AgentFileChanged(StateError):
    """An agent file is not what it was when the run was started; nothing was dispatched."""

    code = "agent_file_changed"


class PolicyPreflight(StateError):
    """A destination or permission was refused before any state was created."""

    code = "policy_preflight"


class RunFailed(AgentctlError):
    """The run ended in failure."""

    code = "run_failed"
    exit_code = 4


class EffectError(RunFailed):
    """An executor failed.

    `retryable`: the failure is definite and trying again may help.
    `ambiguous`: the effect may have happened all the same.
    `detail`: what is known besides, as JSON; the ledger keeps it with the error.
    """

    code = "effect_failed"

    def __init__(
        self,
        message: str,
        *,
        code: str = "",
        retryable: bool = False,
        ambiguous: bool = False,
        detail: JsonValue = None,
    ) -> None:
        super().__init__(message)
        self.detail = detail
        self.kind = code or self.code
        self.retryable = retryable
        self.ambiguous = ambiguous


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


class PrerequisiteError(AgentctlError):
    """Something outside is missing: a credential, a program, a server."""

    code = "prerequisite_missing"
    exit_code = 6


class SecretMissing(PrerequisiteError):
    """A secret is not where the document says, or cannot be used; no message holds a value."""

    code = "missing_credential"


class RunCancelled(AgentctlError):
    """The run was cancelled by a person or a signal."""

    code = "cancelled"
    exit_code = 130


class Bug(RuntimeError):
    """An invariant of agentctl broke: please report it."""

    code: ClassVar[str] = "bug"
    exit_code: ClassVar[int] = 70


def _obstacles(listed: JsonValue) -> str:
    assert isinstance(listed, list)
    found = [one for one in listed if isinstance(one, dict)]
    return "; ".join(f"{one['taskId']}: {one['meaning']} ({one['rule']})" for one in found)
