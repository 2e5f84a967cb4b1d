"""Where the effects that a compensation undoes stand, as `inspect` shows it.

Above: the view of a run. Below: records.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agentctl.engine.records import CompensationRecord
    from agentctl.jsonvalue import JsonObject


def compensation_view(one: CompensationRecord) -> JsonObject:
    """Return what a compensation did about one effect as JSON."""
    return {
        "sourceEffect": one.effect_name,
        "sourceEffectId": one.effect_id,
        "taskId": one.task_id,
        "state": one.state,
        "canDo": list(one.table.legal(one.state)),
    }
