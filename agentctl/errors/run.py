"""How a run itself ends badly, and what is missing outside: exit codes 4, 6 and 130."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentctl.errors.base import AgentctlError

if TYPE_CHECKING:
    from agentctl.jsonvalue import JsonValue


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


class PrerequisiteError(AgentctlError):
    """Something outside is missing: a credential, a program, a server."""

    code = "prerequisite_missing"
    exit_code = 6


class SecretMissing(PrerequisiteError):
    """A secret is not where the document says, or cannot be used; no message holds a value."""

    code = "missing_credential"


class HistoryDiffers(AgentctlError):
    """A workflow would not produce the recorded history any more."""

    code = "history_differs"
    exit_code = 4


class RunCancelled(AgentctlError):
    """The run was cancelled by a person or a signal."""

    code = "cancelled"
    exit_code = 130
