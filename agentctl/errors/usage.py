"""The command line or the call is wrong: exit code 2."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentctl.errors.base import AgentctlError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentctl.diagnostics import Diagnostic


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


class UnknownRequest(UsageError):
    """No question or review of an agent has this id."""

    code = "unknown_request"


class UnknownRun(UsageError):
    """No run has this id."""

    code = "unknown_run"


class StartKeyReused(UsageError):
    """A start key names a run of another workflow, other inputs or other variables."""

    code = "start_key_reused"


class KeyReused(UsageError):
    """An idempotency key was used for a call of something else, or with another input."""

    code = "idempotency_key_conflict"


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
