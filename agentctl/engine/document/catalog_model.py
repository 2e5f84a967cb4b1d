"""What agents may ask of the control plane, and what none of them may.

Above: the hints, when a document has one of them. The names of groups, modes and kinds are the
catalog's; a test holds them against it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from attr import frozen

from agentctl.engine.document.fields import item
from agentctl.value import Value

if TYPE_CHECKING:
    from agentctl.engine.document.secret_model import Secret

TaskModeName = Literal["standard", "ask", "planning", "skill_test"]
GroupName = Literal[
    "discovery",
    "delegation_dependencies",
    "governance",
    "cases",
    "workspace_runtime",
    "routines",
    "company_skills",
    "secrets",
    "portability_admin",
]


@frozen(kw_only=True, eq=False, repr=False)
class CatalogGrant(Value):
    """What an agent may ask of the control plane, beside what every agent may."""

    role: str = item("Role of the agent.", "agent")
    mode: TaskModeName = item("How its task is worked on.", "standard")
    groups: list[GroupName] = item("Groups of tools.", factory=list)
    tools: list[str] = item("Single tools of other groups.", factory=list)
    claims: list[str] = item("Claims that tools need.", factory=list)


InteractionKind = Literal[
    "confirmation", "checkbox", "questions", "suggest_tasks", "item_verdicts"
]


@frozen(kw_only=True, eq=False, repr=False)
class CatalogPolicy(Value):
    """What no agent may ask of the control plane, whatever it is granted."""

    denied_operations: list[str] = item("Tools that nobody sees.", factory=list)
    denied_claims: list[str] = item("Claims that do not count.", factory=list)
    allow_secret_values: bool = item("Whether agents may read secrets.", default=False)
    secrets: dict[str, Secret] = item("Secrets that agents may read, by name.", factory=dict)
    interaction_kinds: list[InteractionKind] | None = item(
        "Ways in which a person may be asked; absent is all.", None
    )
