"""Stage: which task writes which key of working memory, and that no two of them can race.

Above: the pipeline and the expander. Below: the library and the plan's tasks.
Source: specification, section 3 (memoryWrites, sub-workflow).
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Final

from agentctl.engine.compiler.order import Closure
from agentctl.engine.kinds import MEMORY_WRITERS
from agentctl.engine.template import is_template
from agentctl.suggest import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from agentctl.engine.compiler.library import Library, Unit
    from agentctl.engine.compiler.report import Report
    from agentctl.engine.document.model import Task
    from agentctl.engine.plan import PlanTask
    from agentctl.jsonvalue import JsonObject, JsonValue

KEYED: Final = MEMORY_WRITERS | {"builtin.memory.read"}
LONG_TERM: Final = "builtin.long_term_memory."


def written_keys(kind: str | None, given: JsonObject, task: Task) -> tuple[str, ...]:
    """Return the keys that a task may write, as its own unit knows them."""
    if task.memory_writes:
        return tuple(dict.fromkeys(task.memory_writes))
    key = given.get("key")
    if kind in MEMORY_WRITERS and isinstance(key, str) and key and not is_template(key):
        return (key,)
    return ()


def scoped_input(
    kind: str | None, given: JsonObject, namespace: str, long_term_namespace: str
) -> JsonObject:
    """Return an input whose long-term namespace belongs to the invocation."""
    if kind is None or not kind.startswith(LONG_TERM):
        return given
    own = given.get("namespace")
    return {
        **given,
        "namespace": namespace + (own if isinstance(own, str) else long_term_namespace),
    }


def check_memory(library: Library, unit: Unit, report: Report) -> None:
    """Check the keys that the tasks of a unit name."""
    for position, task in enumerate(unit.tasks):
        uses = unit.uses.get(task.id)
        if uses is None or uses.form != "action":
            continue
        action = library.actions[uses.name]
        if action.kind not in KEYED and not action.kind.startswith(LONG_TERM):
            continue
        given = {**action.defaults, **task.with_}
        _check_key(unit, position, task, action.kind, given, report)
        if not unit.is_root:
            _check_fixed(unit, position, action.kind, given, report)


def known_keys(library: Library, unit: Unit, working: JsonObject) -> set[str]:
    """Return the keys of working memory that templates of a unit may read."""
    known = set(working) if unit.is_root else set()
    for task in unit.tasks:
        uses = unit.uses.get(task.id)
        action = library.actions[uses.name] if uses and uses.form == "action" else None
        if action is None:
            known.update(task.memory_writes)
        else:
            known.update(written_keys(action.kind, {**action.defaults, **task.with_}, task))
    return known


def find_conflicts(
    tasks: Sequence[PlanTask], origins: Mapping[str, tuple[Unit, int]], report: Report
) -> None:
    """Report keys that two unordered tasks write; `tasks` stand in compiled order."""
    writers: dict[str, list[PlanTask]] = {}
    for task in tasks:
        for key in task.memory_writes:
            writers.setdefault(key, []).append(task)
    closure = Closure({task.id: task.needs for task in tasks})
    for key, found in writers.items():
        # If every neighbouring pair is ordered, all of them are.
        for earlier, later in pairwise(found):
            if not closure.is_behind(later.id, earlier.id):
                _conflict(key, earlier, later, origins, report)


def _conflict(
    key: str,
    earlier: PlanTask,
    later: PlanTask,
    origins: Mapping[str, tuple[Unit, int]],
    report: Report,
) -> None:
    unit, position = origins[later.id]
    task = unit.tasks[position]
    inside = "memoryWrites" if task.memory_writes else "with.key"
    report.add(
        "memory_conflict",
        f"{earlier.id!r} and {later.id!r} may run together, and both write the memory key {key!r}",
        file=unit.file,
        path=unit.at(position, inside),
        help="let one need the other, use two keys, or set runtime.maxConcurrency to 1",
    )


def _check_key(
    unit: Unit, position: int, task: Task, kind: str, given: JsonObject, report: Report
) -> None:
    key = given.get("key")
    if kind not in MEMORY_WRITERS or not isinstance(key, str):
        return
    if is_template(key):
        if not task.memory_writes:
            report.add(
                "memory_conflict",
                f"task {task.id!r} writes a key that is known only when it runs",
                file=unit.file,
                path=unit.at(position, "with.key"),
                help="list the possible keys in `memoryWrites`",
            )
    elif task.memory_writes and key not in task.memory_writes:
        report.add(
            "memory_conflict",
            f"task {task.id!r} writes {key!r}, which its memoryWrites do not list",
            file=unit.file,
            path=unit.at(position, "memoryWrites"),
            help=did_you_mean(key, task.memory_writes),
        )


def _check_fixed(unit: Unit, position: int, kind: str, given: JsonObject, report: Report) -> None:
    """Refuse names that are known only at run time where every invocation needs its own."""
    names = ["key"] if kind in KEYED else []
    if kind.startswith(LONG_TERM):
        names.append("namespace")
    for name in names:
        if _is_dynamic(given.get(name)):
            report.add(
                "memory_conflict",
                f"inside a sub-workflow the memory {name} must be plain text",
                file=unit.file,
                path=unit.at(position, f"with.{name}"),
                help="every invocation has its own memory, so a fixed name is safe",
            )


def _is_dynamic(value: JsonValue) -> bool:
    return isinstance(value, str) and is_template(value)
