"""The catalog itself: every tool in its fixed order, and what never becomes a tool.

Above: exposure, bindings, commands. Below: the descriptors.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from agentctl.catalog.always import ALWAYS
from agentctl.catalog.company import COMPANY
from agentctl.catalog.work import WORK

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentctl.catalog.descriptor import Descriptor

CATALOG: Final[tuple[Descriptor, ...]] = (*ALWAYS, *WORK, *COMPANY)
BY_ID: Final[Mapping[str, Descriptor]] = MappingProxyType(
    {one.operation_id: one for one in CATALOG}
)
# The control plane does these itself. An agent that could call them would decide about its own
# work, budget and records.
CONTROL_PLANE_OWNED: Final = (
    "checkout_task",
    "release_task",
    "select_work",
    "route_wake",
    "enforce_budget",
    "append_audit_record",
    "persist_run",
    "replay_run",
    "schedule_blocker_wake",
    "reconcile_run",
)
CLAIMS: Final[tuple[str, ...]] = tuple(
    dict.fromkeys(claim for one in CATALOG for claim in one.required_claims)
)
