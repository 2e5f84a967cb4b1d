"""What all deliberate errors have in common, and the error of our own mistakes."""

from __future__ import annotations

from typing import ClassVar


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


class Bug(RuntimeError):
    """An invariant of agentctl broke: please report it."""

    code: ClassVar[str] = "bug"
    exit_code: ClassVar[int] = 70
