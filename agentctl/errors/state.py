"""The request is legal, but not now: exit code 3."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentctl.errors.base import AgentctlError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentctl.jsonvalue import JsonObject, JsonValue


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


class RequestAnswered(StateError):
    """A question or review of an agent was answered, or lost its purpose."""

    code = "request_answered"


class AgentFileChanged(StateError):
    """An agent file is not what it was when the run was started; nothing was dispatched."""

    code = "agent_file_changed"


class WorkflowChanged(StateError):
    """The workflow's file says something else than the run goes by; nothing was dispatched."""

    code = "workflow_changed"


class PolicyPreflight(StateError):
    """A destination or permission was refused before any state was created."""

    code = "policy_preflight"


def _obstacles(listed: JsonValue) -> str:
    assert isinstance(listed, list)
    found = [one for one in listed if isinstance(one, dict)]
    return "; ".join(f"{one['taskId']}: {one['meaning']} ({one['rule']})" for one in found)
