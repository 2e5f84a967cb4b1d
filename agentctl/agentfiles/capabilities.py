"""What the scopes of an agent file allow the tools of a workflow: one table of capabilities.

Above: the compiler. Below: the check and the model. Only what a file surely grants counts, and
only whole: a tool that replaces files needs a file that lets its agent change and create them.
What a limit of the file's host bounds is not given either, unless a workflow's own tools keep
that limit. Source: the agent-file specification, section 14.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from attr import frozen

from agentctl.agentfiles.check import bounded_powers
from agentctl.agentfiles.powers import powers_of, whole
from agentctl.suggest import did_you_mean
from agentctl.value import Value

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agentctl.agentfiles.model import Grant, Token


@frozen(kw_only=True, eq=False, repr=False)
class Rule(Value):
    """One capability and the scope that allows it; `keeps` are limits that its tools keep."""

    scope: str
    capability: str
    keeps: frozenset[str] = frozenset()

    @property
    def powers(self) -> frozenset[str]:
        """All that a file must grant."""
        return whole((self.scope,))


RULES: Final = (
    Rule(scope="read", capability="filesystem.read", keeps=frozenset({"no-network"})),
    Rule(scope="edit", capability="filesystem.write", keeps=frozenset({"no-network"})),
    Rule(scope="execute", capability="process.exec"),
)
# What a file may grant and no tool of a workflow does.
WITHOUT_CAPABILITY: Final = ("search", "todo", "agent", "retrieval", "web", "mcp")


def capabilities_of(grant: Grant) -> tuple[str, ...]:
    """Return the capabilities that a grant surely allows, in the order of the table."""
    return tuple(one.capability for one in RULES if _allows(grant, one))


def why_not(grant: Grant, capability: str) -> str | None:
    """Return what a file says instead of granting a capability, with places; None if it does."""
    rule = next((one for one in RULES if one.capability == capability), None)
    if rule is None:
        known = [one.capability for one in RULES]
        near = did_you_mean(capability, known)
        return "no scope of an agent file allows it" + (f" ({near})" if near else "")
    return None if _allows(grant, rule) else _said(grant, rule)


def named(tokens: Iterable[Token]) -> str:
    """Return names with their places, as people read them."""
    return ", ".join(f"{one.text} ({one.line}:{one.column})" for one in tokens)


def _allows(grant: Grant, rule: Rule) -> bool:
    return rule.powers <= grant.powers_lower and not _bounds(grant, rule)


def _bounds(grant: Grant, rule: Rule) -> list[str]:
    """Return the limits of a host that bound a capability and would be lost here."""
    return [
        one for one in grant.limits if one not in rule.keeps and bounded_powers(one) & rule.powers
    ]


def _said(grant: Grant, rule: Rule) -> str:
    if grant.state == "inherits":
        last = grant.problems[-1]
        return f"it leaves its tools to its host (at {last.line}:{last.column}: {last.message})"
    bounds = _bounds(grant, rule)
    if bounds and rule.powers <= grant.powers_lower:
        return f"its host keeps the limit {', '.join(bounds)}, which a workflow cannot keep"
    if grant.state == "unreadable":
        return "it cannot be read"
    granted = [one for one in grant.tokens if not one.is_denied]
    denied = [one for one in grant.tokens if one.is_denied]
    also = f", and denies {named(denied)}" if denied else ""
    if not granted:
        return f"it grants no tools{also}"
    part = [one for one in granted if _powers(grant, one) & rule.powers]
    if part:
        lacks = ", ".join(sorted(rule.powers - grant.powers_lower))
        return f"it surely grants {rule.scope} only in part, by {named(part)}; {lacks} is missing"
    return f"it grants {', '.join(grant.scopes_lower) or 'nothing'}, by {named(granted)}{also}"


def _powers(grant: Grant, token: Token) -> frozenset[str]:
    return powers_of(grant.format, token.text, token.scopes, token.extras)
