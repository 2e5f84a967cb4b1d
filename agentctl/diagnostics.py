"""Problems of a document, each with its place.

A diagnostic is data: the reader and the compiler collect them, the CLI prints them, and
`DocumentError` carries them. Codes are listed in `docs/errors.md`.
"""

from __future__ import annotations

from typing import Literal

from attr import field, frozen

from agentctl.value import Value

DiagnosticCode = Literal[
    "agent_file",
    "budget_exceeded",
    "dependency_cycle",
    "duplicate_key",
    "duplicate_task",
    "incompatible_state",
    "invalid_expansion",
    "invalid_router",
    "invalid_schema",
    "invalid_secret_reference",
    "invalid_template",
    "memory_conflict",
    "migration_required",
    "missing_reference",
    "pack_error",
    "policy_denied",
    "reserved_name",
    "schema_violation",
    "source_error",
    "tool_not_granted",
    "unsupported_capability",
    "unsupported_version",
    "yaml_syntax",
]
Severity = Literal["error", "warning"]


@frozen(kw_only=True, eq=False, repr=False)
class Diagnostic(Value):
    """One problem. `line` and `column` count from 1; None where there is no text to point at.

    `path` is written like `spec.tasks[2].retry.maxAttempts`.
    """

    code: DiagnosticCode
    message: str
    file: str
    path: str = ""
    line: int | None = None
    column: int | None = None
    severity: Severity = "error"
    help: str | None = field(default=None)


def has_errors(diagnostics: list[Diagnostic]) -> bool:
    """Return whether any diagnostic stops compilation."""
    return any(one.severity == "error" for one in diagnostics)
