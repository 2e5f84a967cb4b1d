"""Whether each secret of a plan can be found, by really looking it up.

Above: `auth check`. Below: `effects.secrets`. Values stay in it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from attr import frozen

from agentctl.cli.readiness import needed, secrets_of
from agentctl.engine.credentials import credentials_of, place_of
from agentctl.errors import AgentctlError
from agentctl.value import Value

if TYPE_CHECKING:
    from pathlib import Path

    from agentctl.effects.secrets import Secrets
    from agentctl.engine.credentials import Credential
    from agentctl.engine.plan import Plan
    from agentctl.jsonvalue import JsonObject


@frozen(kw_only=True, eq=False, repr=False)
class Found(Value):
    """One reference; `problem` says why it gives no value, and is None when it does."""

    credential: Credential
    is_needed: bool
    problem: str | None

    @property
    def is_fine(self) -> bool:
        """Whether a run can do with it as it is."""
        return self.problem is None or not self.is_needed

    @property
    def status(self) -> str:
        """One word for people."""
        if self.problem is None:
            return "available"
        return "missing" if self.is_needed else "not needed"

    def as_json(self) -> JsonObject:
        """Return the public JSON."""
        kind, place = place_of(self.credential.reference)
        return {
            "name": self.credential.name,
            "source": {"kind": kind, "name": place},
            "needed": self.is_needed,
            "available": self.problem is None,
            "reason": self.problem,
        }


async def look_up(plan: Plan, workspace: Path) -> list[Found]:
    """Return what became of every reference of a plan."""
    secrets = secrets_of(plan, workspace)
    return [
        Found(
            credential=one,
            is_needed=needed(plan, one),
            problem=await _problem(one, secrets),
        )
        for one in credentials_of(plan)
    ]


async def _problem(one: Credential, secrets: Secrets) -> str | None:
    try:
        await secrets.resolve(one.reference)
    except AgentctlError as error:
        return error.message
    return None
