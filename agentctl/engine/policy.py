"""What a workflow's policy allows, decided from its definitions alone.

Above: the compiler, which warns of what will be refused, and the flights, which ask before every
effect. Below: nothing but the plan's JSON. Pure; paths, hosts and programs are judged where they
are opened, by the executors.
Source: specification, sections 1.1 (policy) and 8.
"""

from __future__ import annotations

from posixpath import basename
from typing import TYPE_CHECKING, Final, Literal, cast

from attr import evolve, frozen

from agentctl.value import Value

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from agentctl.engine.records import EffectClass, Risk
    from agentctl.jsonvalue import JsonObject

ApprovalMode = Literal["never", "mutations", "high_risk", "always"]
ApprovalOverride = Literal["policy", "never", "always"]
NonInteractive = Literal["pause", "deny_approval", "fail"]

APPROVED_AS_MUTATION: Final[frozenset[EffectClass]] = frozenset(
    {"workspace_mutate", "external_mutate", "process_execution", "remote_agent"}
)
_HIGH_RISKS: Final[frozenset[Risk]] = frozenset({"high", "critical"})


@frozen(kw_only=True, eq=False, repr=False)
class Policy(Value):
    """The decisions of one plan. An empty `tools_allow` allows whatever is not denied."""

    approval: ApprovalMode = "mutations"
    non_interactive: NonInteractive = "pause"
    tools_allow: frozenset[str] = frozenset()
    tools_deny: frozenset[str] = frozenset()
    approval_expires_seconds: int | None = None

    @classmethod
    def from_definitions(cls, definitions: JsonObject) -> Policy:
        """Read the policy out of a plan's definitions."""
        policy = cast("JsonObject", definitions["policy"])
        return cls(
            approval=cast("ApprovalMode", policy["approval"]),
            non_interactive=cast("NonInteractive", policy["nonInteractive"]),
            tools_allow=frozenset(cast("list[str]", policy["toolsAllow"])),
            tools_deny=frozenset(cast("list[str]", policy["toolsDeny"])),
            approval_expires_seconds=cast("int | None", policy.get("approvalExpiresSeconds")),
        )

    def denial(self, capability: str, names: Iterable[str] = ()) -> str | None:
        """Return why something may not be used, or None.

        `names` are the action's or tool's own names; a list may name those or the capability.
        """
        asked = [one for one in (capability, *names) if one]
        for one in asked:
            if one in self.tools_deny:
                return f"policy.toolsDeny denies {one}"
        if self.tools_allow and not self.tools_allow.intersection(asked):
            return f"policy.toolsAllow does not list {' or '.join(asked)}"
        return None

    def needs_approval(
        self, effect_class: EffectClass, risk: Risk, override: ApprovalOverride = "policy"
    ) -> bool:
        """Return whether a person must say yes first; a tool's own setting wins."""
        if override != "policy":
            return override == "always"
        if self.approval == "mutations":
            return effect_class in APPROVED_AS_MUTATION
        if self.approval == "high_risk":
            return risk in _HIGH_RISKS
        return self.approval == "always"

    def with_a_person(self) -> Policy:
        """Return the same policy where somebody is there to be asked."""
        return evolve(self, non_interactive="pause")

    def without_approval(self) -> Policy:
        """Return the same policy that asks nobody, for check mode."""
        return evolve(self, approval="never")


def program_name(command: str) -> str:
    """Return the name by which an allow-list knows a program: the last part of its path."""
    return basename(command)


def program_allowed(command: str, allowlist: Sequence[str]) -> bool:
    """Return whether an allow-list names a program."""
    return program_name(command) in allowlist
