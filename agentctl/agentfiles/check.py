"""Whether one grant is within another.

Above: the renderers and the commands. Below: the model. What the source surely grants is compared
with what the target may grant: a source that cannot be read covers nothing, and a target that
cannot be read may hold everything. Source: the agent-file specification, section 8.3.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

from attr import frozen

from agentctl.agentfiles.model import ALL
from agentctl.agentfiles.names import OPENCODE
from agentctl.agentfiles.powers import covered, scopes_of, whole
from agentctl.agentfiles.vocabulary import SCOPES
from agentctl.value import Value

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agentctl.agentfiles.model import Grant
    from agentctl.agentfiles.names import Meaning

Outcome = Literal["ok", "narrowed", "widened", "refuse"]
WITHIN: Final = frozenset({"ok", "narrowed"})
# Extras that say something about a grant and add nothing to it.
_REMARKS: Final = (
    "minus:",
    "narrowing-not-enforced:",
    "deprecated:",
    "pattern:",
    "no-write",
    "no-network",
    "permission:plan",
)
_ENVELOPE: Final = frozenset({"no-write", "no-network", "permission:plan"})
_DENIED_SERVER: Final = "minus:mcp__"
_WRITING: Final = whole(("edit", "execute", "retrieval")) | {"execute.control"}


@frozen(kw_only=True, eq=False, repr=False)
class Verdict(Value):
    """What a target adds to its source and what it leaves out; `reasons` say it in sentences.

    `widened` is None where it cannot be told.
    """

    outcome: Outcome
    widened: tuple[str, ...] | None = ()
    dropped: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()

    @property
    def is_within(self) -> bool:
        """Whether the target grants no more than its source."""
        return self.outcome in WITHIN


def check_no_widening(source: Grant, target: Grant) -> Verdict:
    """Return whether the target surely grants no more than the source surely does."""
    if target.powers_upper == ALL:
        why = target.problems[-1].message if target.problems else "its upper bound is open"
        return _refusal(f"what the target grants cannot be told: {why}")
    has_any = bool(target.powers_upper or powers_beside(target))
    if source.state in ("inherits", "unreadable") and has_any:
        why = source.problems[-1].message if source.problems else "nothing is listed"
        return _refusal(f"what the source grants cannot be told: {why}")
    widened = (*_more_powers(source, target), *_more_extras(source, target))
    widened += _lost_limits(source, target)
    dropped = (*_more_powers(target, source, surely=True), *_more_extras(target, source))
    reasons = [f"adds {one}" for one in widened] + [f"drops {one}" for one in dropped]
    outcome: Outcome = "widened" if widened else "narrowed" if dropped else "ok"
    return Verdict(outcome=outcome, widened=widened, dropped=dropped, reasons=tuple(reasons))


def _refusal(reason: str) -> Verdict:
    return Verdict(outcome="refuse", widened=None, reasons=(reason,))


def _more_powers(less: Grant, more: Grant, *, surely: bool = False) -> tuple[str, ...]:
    """Return what `more` may do and `less` surely may not: scopes first, then single powers."""
    upper = more.powers_lower if surely else more.powers_upper
    assert upper != ALL
    left = frozenset(upper) - covered(less.powers_lower)
    known = {power.partition(".")[0] for power in less.powers_lower}
    new = {power.partition(".")[0] for power in left} - known
    finer = sorted(power for power in left if power.partition(".")[0] in known)
    others = sorted(new - set(SCOPES))
    return (*scopes_of(power for power in left if power.partition(".")[0] in new), *others, *finer)


def powers_beside(grant: Grant) -> tuple[str, ...]:
    """Return the extras that are powers; `web` is kept with the scopes."""
    return tuple(
        one
        for one in grant.extras
        if one not in ("web", ALL) and not one.startswith((*_REMARKS, "agents:"))
    )


def targets(grant: Grant, *, surely: bool) -> frozenset[str]:
    """Return whom an agent may start; `*` is everybody."""
    upper = whole(("agent",)) if grant.powers_upper == ALL else grant.powers_upper
    if "agent.start" not in (grant.powers_lower if surely else frozenset(upper)):
        return frozenset()
    named = (one.removeprefix("agents:") for one in grant.extras if one.startswith("agents:"))
    return frozenset(named) or frozenset({"*"})


def _more_extras(less: Grant, more: Grant) -> tuple[str, ...]:
    have = powers_beside(less)
    same = less.format == more.format
    left = [one for one in powers_beside(more) if not _has(have, one, same_host=same)]
    known = targets(less, surely=True)
    if known and "*" not in known:
        left += [f"agents:{one}" for one in sorted(targets(more, surely=False) - known)]
    return tuple(left)


def _has(have: Iterable[str], wanted: str, *, same_host: bool) -> bool:
    """Return whether one of the extras covers another."""
    if wanted.startswith(("unknown:", "goose:", "permission:")) and not same_host:
        # A name that nobody knows may mean another thing on another host.
        return False
    kind, _, rest = wanted.partition(":")
    server = rest.partition("/")[0]
    wider = {wanted, f"{kind}:*", f"{kind}:{server}/*"}
    if kind == "skill":
        wider.add("skill")
    return any(one in wider for one in have)


def _lost_limits(source: Grant, target: Grant) -> tuple[str, ...]:
    kept = frozenset(target.limits)
    return tuple(
        f"without {one}" for one in source.limits if one not in kept and bounds(one, target)
    )


def bounds(limit: str, grant: Grant) -> bool:
    """Return whether a grant may hold something that a limit bounds."""
    if limit.startswith(_DENIED_SERVER):
        return any(limits_server(limit, one) for one in grant.extras)
    powers = frozenset() if grant.powers_upper == ALL else grant.powers_upper
    extras = () if limit in _ENVELOPE else _governed(limit)[1]
    return bool(bounded_powers(limit) & powers or frozenset(grant.extras).intersection(extras))


def limits_server(limit: str, extra: str) -> bool:
    """Return whether a denied name such as `minus:mcp__x__y` takes from an extra `mcp:x/*`."""
    if not limit.startswith(_DENIED_SERVER) or not extra.startswith("mcp:"):
        return False
    denied = limit.removeprefix(_DENIED_SERVER).partition("__")[0]
    server = extra.removeprefix("mcp:").partition("/")[0]
    return "*" in denied or server in (denied, "*")


def is_limit(text: str) -> bool:
    """Return whether a text is a limit that the check knows."""
    kind, _, rest = text.partition(":")
    is_rule = kind in ("pattern", "asks") and rest.partition(" ")[0] in OPENCODE
    return text in _ENVELOPE or is_rule or text.startswith(_DENIED_SERVER)


def bounded_powers(limit: str) -> frozenset[str]:
    """Return the powers that a limit bounds."""
    if limit.startswith(_DENIED_SERVER):
        return frozenset()
    if limit in _ENVELOPE:
        return _WRITING
    scopes, extras = _governed(limit)
    return whole((*scopes, *extras))


def _governed(limit: str) -> Meaning:
    return OPENCODE[limit.partition(":")[2].partition(" ")[0]]
