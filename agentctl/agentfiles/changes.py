"""What becomes of each name when one agent file is turned into another, with its place.

Above: the commands. Below: the check and the powers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from attr import frozen

from agentctl.agentfiles.check import powers_beside
from agentctl.agentfiles.model import ALL
from agentctl.agentfiles.powers import covered, powers_of
from agentctl.value import Value

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentctl.agentfiles.model import Grant, Token

Effect = Literal["keeps", "narrows", "drops", "adds"]


@frozen(eq=False, repr=False)
class Change(Value):
    """What becomes of one name. For `adds` the place is in the target, else in the source."""

    effect: Effect
    name: str
    detail: str
    line: int
    column: int


def changes(source: Grant, target: Grant) -> tuple[Change, ...]:
    """Return what becomes of every granted name of the source, and what the target adds."""
    return (*_from_source(source, target), *_added(source, target))


def _from_source(source: Grant, target: Grant) -> Iterator[Change]:
    if target.powers_upper == ALL:
        return
    have, extras = covered(target.powers_upper), frozenset(target.extras)
    for token in _granted(source):
        powers = powers_of(source.format, token.text, token.scopes, token.extras)
        others = [one for one in token.extras if one != "web" and not _is_remark(one)]
        lost = sorted(powers - have) + [one for one in others if one not in extras]
        if not lost:
            continue
        effect: Effect = "drops" if len(lost) == len(powers) + len(others) else "narrows"
        detail = ", ".join(lost)
        yield Change(effect, token.text, detail, token.line, token.column)


def _added(source: Grant, target: Grant) -> Iterator[Change]:
    if target.powers_upper == ALL:
        problem = target.problems[-1] if target.problems else None
        place = (problem.line, problem.column) if problem else (1, 1)
        yield Change("adds", "*", problem.message if problem else "it is open", *place)
        return
    have, extras = covered(source.powers_lower), frozenset(source.extras)
    beside = frozenset(powers_beside(target))
    for token in _granted(target):
        powers = powers_of(target.format, token.text, token.scopes, token.extras)
        new = sorted(powers - have)
        new += [one for one in token.extras if one in beside and one not in extras]
        if new:
            yield Change("adds", token.text, ", ".join(new), token.line, token.column)


def _granted(grant: Grant) -> Iterator[Token]:
    return (one for one in grant.tokens if not one.is_denied)


def _is_remark(extra: str) -> bool:
    return extra.startswith(("narrowing-not-enforced:", "no-"))
