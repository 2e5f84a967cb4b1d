"""The tools of the control plane on the command line: finding them, and saying who sees them.

Above: `tools`. Below: the catalog.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from agentctl.catalog.descriptor import GROUPS
from agentctl.catalog.tools import BY_ID, CATALOG, CLAIMS, CONTROL_PLANE_OWNED
from agentctl.errors import UsageError
from agentctl.suggest import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from agentctl.catalog.descriptor import Descriptor, Group
    from agentctl.catalog.exposure import Decision
    from agentctl.catalog.policy import Grant
    from agentctl.jsonvalue import JsonObject, JsonValue

# What is wrong with a name after an option, and the names that are not.
_KNOWN: Final = {
    "--group": ("no such group", GROUPS),
    "--tool": ("no such tool", tuple(BY_ID)),
    "--claim": ("no tool needs it", CLAIMS),
    "--deny-tool": ("no such tool", tuple(BY_ID)),
    "--deny-claim": ("no tool needs it", CLAIMS),
}


def known_tool(name: str) -> Descriptor:
    """Return a tool by its name. Raises UsageError."""
    if name in CONTROL_PLANE_OWNED:
        raise UsageError(
            f"{name} is no tool: the control plane does it itself",
            help="`agentctl tools list` shows the tools",
        )
    if name not in BY_ID:
        raise UsageError(f"no tool {name!r}", help=did_you_mean(name, BY_ID))
    return BY_ID[name]


def check_names(given: dict[str, Sequence[str] | None]) -> None:
    """Refuse the names after these options that are not known, all of them at once."""
    problems = [
        f"{option} {name!r}: {_KNOWN[option][0]} ({did_you_mean(name, _KNOWN[option][1])})"
        for option, names in given.items()
        for name in names or ()
        if name not in _KNOWN[option][1]
    ]
    if problems:
        raise UsageError("; ".join(problems))


def chosen_groups(names: Sequence[str] | None) -> frozenset[Group]:
    """Return the groups with these names, which are known; all of them when none is given."""
    return frozenset(GROUPS) if names is None else frozenset(cast("Sequence[Group]", names))


def listed(groups: frozenset[Group] | None) -> list[Descriptor]:
    """Return the tools of some groups, or the whole catalog."""
    return [one for one in CATALOG if groups is None or one.group in groups]


def summary(tool: Descriptor) -> JsonObject:
    """Return what a list says of a tool."""
    return {
        "operationId": tool.operation_id,
        "title": tool.title,
        "disposition": tool.disposition,
        "optionalGroup": tool.group,
        "sideEffectClass": tool.side_effect_class,
        "idempotency": tool.idempotency,
        "requiredClaims": [*tool.required_claims],
    }


def exposure_data(grant: Grant, decisions: Iterable[Decision]) -> JsonObject:
    """Return decisions with what they were made for, as JSON."""
    rows: list[JsonValue] = [
        {
            "operationId": one.operation_id,
            "outcome": one.outcome,
            "reason": one.reason,
            "consideredClaims": [*one.considered_claims],
            "grantedClaims": [*one.granted_claims],
            "missingClaims": [*one.missing_claims],
        }
        for one in decisions
    ]
    return {
        "role": grant.role,
        "mode": grant.mode,
        "claims": [*sorted(grant.claims)],
        "groups": [one for one in GROUPS if one in grant.groups],
        "decisions": rows,
    }


def needs(decision: Decision) -> str:
    """Return what a refused tool would need, as far as it can be given."""
    tool = BY_ID.get(decision.operation_id)
    if tool is None:
        return ""
    told = {
        "operation_not_available_in_task_mode": tool.task_modes,
        "actor_role_not_authorized": tool.allowed_roles or (),
        "group_not_granted": (tool.group or "",),
        "required_claim_missing": decision.missing_claims,
    }
    return ", ".join(told.get(decision.reason, ()))
