"""A `run --check` for people: what would happen to each task, as far as it can be known.

Above: `run`. Below: the engine's preview, as JSON.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from agentctl.cli.paint import table, visible

if TYPE_CHECKING:
    from agentctl.jsonvalue import JsonObject


def human(data: JsonObject, *, diff: bool) -> str:
    """Return the preview as a table, with the diffs of files when asked."""
    tasks = cast("list[JsonObject]", data.get("tasks") or [])
    rows = [
        (
            str(one.get("taskId")),
            _status(one),
            str(one.get("predictability") or "").replace("_", " "),
            _reason(one),
        )
        for one in tasks
    ]
    parts = [table(("task", "would", "predictability", ""), rows)]
    if diff:
        parts += [
            f"{visible(str(one.get('taskId')))}:\n{_safe(str(_output(one)['diff']))}"
            for one in tasks
            if _output(one).get("diff")
        ]
    overall = str(data.get("predictability") or "").replace("_", " ")
    parts.append(f"nothing was written; {overall}")
    return "\n\n".join(parts)


def _output(task: JsonObject) -> JsonObject:
    output = task.get("output")
    return output if isinstance(output, dict) else {}


def _status(task: JsonObject) -> str:
    """Return what would become of a task: its action's status, else its state."""
    return str(_output(task).get("status") or task.get("state"))


def _reason(task: JsonObject) -> str:
    error = task.get("error")
    told = error.get("message") if isinstance(error, dict) else _output(task).get("reason")
    return str(told or "")


def _safe(text: str) -> str:
    return "\n".join(visible(line) for line in text.splitlines())
