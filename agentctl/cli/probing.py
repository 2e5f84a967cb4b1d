"""Running probes from the command line, and telling what they said.

Above: `effects probe` and `reconcile`. Below: the engine.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentctl.cli.drive import drive
from agentctl.cli.paint import visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from agentctl.cli.console import Console
    from agentctl.door import Engine
    from agentctl.engine.operations.probing import Probed
    from agentctl.jsonvalue import JsonObject, JsonValue

UNSETTLED_EXIT_CODE = 3


def ask(
    console: Console, engine: Engine, run_id: str, effects: Sequence[str] | None
) -> list[Probed]:
    """Probe some effects of a run, or all that have a probe."""
    return drive(console, engine, lambda: engine.probe(run_id, effects))


def report(console: Console, probed: list[Probed], follows: str) -> int:
    """Write what the probes said; the exit code tells whether each settled its effect."""
    answers: list[JsonValue] = [one.to_json() for one in probed]
    data: JsonObject = {"probes": answers, "next": follows}
    console.result("Probes", data, lambda: f"{lines(probed)}\n  {follows}")
    return 0 if all(one.status for one in probed) else UNSETTLED_EXIT_CODE


def lines(probed: Iterable[Probed]) -> str:
    """Return one line for each probe."""
    told = [
        f"effect {one.effect_name}: probe {one.action}: "
        + (f"{one.status}" if one.status else f"still uncertain: {one.reason}")
        for one in probed
    ]
    return "\n".join(map(visible, told)) or "no effect in doubt has a probe"
