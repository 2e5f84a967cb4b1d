"""Which tools an agent sees, which calls it may make, and the reason for each answer.

Above: the commands, the bindings and, later, the handlers. Below: the catalog and the policy.
A call is judged again with what it carries: what was visible may be denied since, and a name
that nobody was shown can be called all the same. Source: the semantic tool specification,
"Exposure and invocation".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, get_args

from attr import frozen

from agentctl.catalog.tools import BY_ID, CATALOG, CONTROL_PLANE_OWNED
from agentctl.value import Value

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentctl.catalog.descriptor import Descriptor
    from agentctl.catalog.policy import Grant, Policy
    from agentctl.jsonvalue import JsonObject

Granted = Literal["task_scoped_always_tool", "required_claims_granted"]
# In the order in which they are tried; the first that holds is the reason.
Refused = Literal[
    "control_plane_owned_operation",
    "unknown_operation",
    "operation_denied_by_policy",
    "operation_not_available_in_task_mode",
    "actor_role_not_authorized",
    "required_claim_denied_by_policy",
    "group_not_granted",
    "required_claim_missing",
    "secret_value_access_disabled",
    "generic_escape_hatch_disabled",
    "generic_escape_hatch_target_denied",
    "interaction_kind_denied_by_policy",
]
Reason = Granted | Refused
Phase = Literal["exposure", "invocation"]
Outcome = Literal["exposed", "absent", "allowed", "denied"]
DenialCode = Literal["policy_denied", "operation_absent"]

GRANTING: Final[tuple[Granted, ...]] = get_args(Granted)
REFUSING: Final[tuple[Refused, ...]] = get_args(Refused)
_NO_TOOL: Final = frozenset({"control_plane_owned_operation", "unknown_operation"})
_ASK_A_PERSON: Final = "request_human_input"


@frozen(kw_only=True, eq=False, repr=False)
class Decision(Value):
    """The answer about one operation.

    `considered_claims` are those that it needs; each is granted or missing. All are sorted.
    """

    operation_id: str
    phase: Phase
    reason: Reason
    considered_claims: tuple[str, ...] = ()
    granted_claims: tuple[str, ...] = ()
    missing_claims: tuple[str, ...] = ()

    @property
    def is_allowed(self) -> bool:
        """Whether the tool is visible, or the call may go on."""
        return self.reason in GRANTING

    @property
    def outcome(self) -> Outcome:
        """The answer in the words of its phase."""
        if self.phase == "exposure":
            return "exposed" if self.is_allowed else "absent"
        return "allowed" if self.is_allowed else "denied"

    @property
    def code(self) -> DenialCode | None:
        """The code of the error that a refused call gets."""
        if self.is_allowed:
            return None
        return "operation_absent" if self.reason in _NO_TOOL else "policy_denied"


@frozen(eq=False, repr=False)
class Exposure(Value):
    """One decision for each tool of the catalog, in its order."""

    decisions: tuple[Decision, ...]

    @property
    def visible(self) -> tuple[Descriptor, ...]:
        """The tools that the agent sees: the one array that every binding is made from."""
        return tuple(BY_ID[one.operation_id] for one in self.decisions if one.is_allowed)


def expose(grant: Grant, policy: Policy) -> Exposure:
    """Return what an agent sees of the catalog, with the reason for every tool."""
    return Exposure(tuple(decide(one.operation_id, grant, policy) for one in CATALOG))


def decide(operation_id: str, grant: Grant, policy: Policy) -> Decision:
    """Return whether an agent sees an operation; what is no tool is seen by nobody."""
    return _decision(operation_id, "exposure", grant, policy, None)


def decide_call(operation_id: str, given: JsonObject, grant: Grant, policy: Policy) -> Decision:
    """Return whether an agent may make a call with this input.

    The input need not fit its schema yet: what the rules look for and do not find is refused.
    """
    return _decision(operation_id, "invocation", grant, policy, given)


def _decision(
    operation_id: str, phase: Phase, grant: Grant, policy: Policy, given: JsonObject | None
) -> Decision:
    tool = BY_ID.get(operation_id)
    if tool is None:
        owned = operation_id in CONTROL_PLANE_OWNED
        reason: Reason = "control_plane_owned_operation" if owned else "unknown_operation"
        return Decision(operation_id=operation_id, phase=phase, reason=reason)
    needed = set(tool.required_claims)
    refusal = next(_refusals(tool, grant, policy, given), None)
    return Decision(
        operation_id=operation_id,
        phase=phase,
        reason=refusal or _grant_reason(tool),
        considered_claims=tuple(sorted(needed)),
        granted_claims=tuple(sorted(needed & grant.claims)),
        missing_claims=tuple(sorted(needed - grant.claims)),
    )


def _grant_reason(tool: Descriptor) -> Granted:
    return "required_claims_granted" if tool.group else "task_scoped_always_tool"


def _refusals(
    tool: Descriptor, grant: Grant, policy: Policy, given: JsonObject | None
) -> Iterator[Refused]:
    """Yield every reason against a tool, the one that counts first."""
    claims = set(tool.required_claims)
    if tool.operation_id in policy.denied_operations:
        yield "operation_denied_by_policy"
    if grant.mode not in tool.task_modes:
        yield "operation_not_available_in_task_mode"
    if tool.allowed_roles is not None and _folded(grant.role) not in tool.allowed_roles:
        yield "actor_role_not_authorized"
    if claims & policy.denied_claims:
        yield "required_claim_denied_by_policy"
    if tool.group and tool.group not in grant.groups and tool.operation_id not in grant.tools:
        yield "group_not_granted"
    if claims - grant.claims:
        yield "required_claim_missing"
    if tool.side_effect_class == "secret_read" and not policy.allows_secret_values:
        yield "secret_value_access_disabled"
    if tool.side_effect_class == "test_escape_hatch" and not policy.allows_escape_hatch:
        yield "generic_escape_hatch_disabled"
    if given is not None:
        yield from _refusals_of_input(tool, policy, given)


def _refusals_of_input(tool: Descriptor, policy: Policy, given: JsonObject) -> Iterator[Refused]:
    kinds, targets = policy.interaction_kinds, policy.escape_hatch_targets
    if tool.side_effect_class == "test_escape_hatch" and not any(
        one.fits(given.get("method"), given.get("path")) for one in targets
    ):
        yield "generic_escape_hatch_target_denied"
    if tool.operation_id == _ASK_A_PERSON and kinds is not None:
        kind = given.get("interactionKind")
        if not isinstance(kind, str) or kind not in kinds:
            yield "interaction_kind_denied_by_policy"


def _folded(role: str) -> str:
    return role.strip().casefold()
