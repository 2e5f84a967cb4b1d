"""Plans and outcomes of derived runs, for the commands that make new runs out of old ones.

Above: `retry`, `repair` and `fork`. Below: the engine and the console.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from agentctl.cli.migrated import told
from agentctl.cli.paint import counted, table, visible

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from agentctl.cli.console import Console
    from agentctl.door import Engine
    from agentctl.engine.events import RunOutcome
    from agentctl.engine.recovery.planning import RecoveryPlan
    from agentctl.jsonvalue import JsonObject, JsonValue

_BLOCKED_EXIT_CODE = 3


def show_plan(console: Console, plan: RecoveryPlan) -> int:
    """Write a plan; one that something stands against leaves with 3."""
    data = plan.to_json()
    console.result("RecoveryPlan", data, lambda: _human(data))
    return 0 if plan.compatible else _BLOCKED_EXIT_CODE


def carry_out(
    console: Console,
    engine: Engine,
    order: tuple[str, ...],
    work: Callable[[], Coroutine[object, object, RunOutcome]],
) -> int:
    """Drive a derived run and write its outcome."""
    from agentctl.cli.drive import drive
    from agentctl.cli.follow import following
    from agentctl.cli.outcome import report

    with following(console, engine, order):
        outcome = drive(console, engine, work)
    return report(console, outcome)


def _human(data: JsonObject) -> str:
    lines = [f"source {data['sourceRunId']}"]
    for key, words in (
        ("reusedTasks", "taken over"),
        ("rerunTasks", "runs"),
        ("newTasks", "new"),
        ("removedTasks", "gone"),
        ("changedTasks", "changed"),
    ):
        named = cast("list[str]", data[key])
        if named:
            lines.append(f"{words}: {', '.join(named)}")
    lines.append(
        f"at least {_number(data, 'estimatedEffects', 'effect')}, "
        f"{_number(data, 'estimatedProviderTasks', 'model task')} and "
        f"{_number(data, 'estimatedApprovals', 'approval')}"
    )
    migration = data["memoryMigration"]
    if isinstance(migration, dict):
        lines += ["", told(migration)]
    blocked = cast("list[JsonObject]", data["blockedReuse"])
    if blocked:
        rows = [
            tuple(visible(str(one)) for one in (_where(one), one["rule"], one["meaning"]))
            for one in blocked
        ]
        lines += ["", "stands against it", table(("where", "rule", ""), rows)]
    return "\n".join(lines)


def _number(data: JsonObject, key: str, what: str) -> str:
    return counted(cast("int", data[key]), what)


def _where(blocked: JsonObject) -> JsonValue:
    return blocked["place"] if blocked["taskId"] is None else blocked["taskId"]
