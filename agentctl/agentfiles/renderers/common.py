"""What the renderers share.

Above: the renderers. Below: the check.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentctl.agentfiles.check import bounded_powers

if TYPE_CHECKING:
    from agentctl.agentfiles.model import Grant


def allowed_powers(grant: Grant) -> frozenset[str]:
    """Return the powers that need no bound: another host does not keep the source's limits."""
    bounded = frozenset(power for one in grant.limits for power in bounded_powers(one))
    return grant.powers_lower - bounded
