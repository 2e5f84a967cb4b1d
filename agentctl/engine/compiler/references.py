"""Stage: every name that a task says must exist.

Above: the pipeline. Below: the library. Fills in `index`, `needs` and `uses` of every unit.
Source: specification, sections 1.1 (task, uses) and 3.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agentctl.engine.compiler.library import USES_FORMS, Uses, UsesForm
from agentctl.engine.compiler.order import topological, written
from agentctl.engine.kinds import kind_of
from agentctl.suggest import did_you_mean, nearest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentctl.engine.compiler.library import Library, Unit
    from agentctl.engine.compiler.report import Report
    from agentctl.engine.document.model import Task

_NAMED: Final[Mapping[str, UsesForm]] = {
    "action": "action",
    "agent": "agent",
    "workflow": "workflow",
}
TEAM_ADVICE = (
    "teams are gone: give each role its own agent task and pass the work on through `needs` "
    "and templates such as ${{ tasks.ROLE.output }}"
)


def check_references(library: Library, report: Report) -> None:
    """Resolve every unit."""
    for unit in library.units.values():
        _index(unit, report)
        for position, task in enumerate(unit.tasks):
            _needs(unit, position, task, report)
            _uses(unit, position, task, report)
            _inverse(library, unit, position, task, report)
        _cycles(unit, report)
    _recursion(library, report)


def _index(unit: Unit, report: Report) -> None:
    for position, task in enumerate(unit.tasks):
        first = unit.index.setdefault(task.id, position)
        if first != position:
            report.add(
                "duplicate_task",
                f"task {task.id!r} is declared twice",
                file=unit.file,
                path=unit.at(position, "id"),
                help=f"the first one is {unit.at(first)}; give this one another id",
            )


def _needs(unit: Unit, position: int, task: Task, report: Report) -> None:
    known = []
    for place, need in enumerate(task.needs):
        if need in unit.index:
            known.append(need)
            continue
        report.add(
            "missing_reference",
            f"task {task.id!r} needs {need!r}, which does not exist",
            file=unit.file,
            path=unit.at(position, f"needs[{place}]"),
            help=did_you_mean(need, [one for one in unit.index if one != task.id]),
        )
    if unit.index[task.id] == position:
        unit.needs[task.id] = tuple(dict.fromkeys(known))


def _uses(unit: Unit, position: int, task: Task, report: Report) -> None:
    path = unit.at(position, "uses")
    form, colon, name = task.uses.partition(":")
    if task.uses == "router":
        unit.uses.setdefault(task.id, Uses(form="router", name=""))
    elif form == "team" and colon:
        report.add(
            "migration_required",
            f"`uses: {task.uses}` is not supported",
            file=unit.file,
            path=path,
            help=TEAM_ADVICE,
        )
    elif colon and form in _NAMED:
        known = _known(unit, form)
        if name in known:
            unit.uses.setdefault(task.id, Uses(form=_NAMED[form], name=known[name]))
            return
        report.add(
            "missing_reference",
            f"no {form} is named {name!r}",
            file=unit.file,
            path=path,
            help=_elsewhere(unit, name) or did_you_mean(name, known) or f"declare spec.{form}s",
        )
    else:
        report.add(
            "missing_reference",
            f"`uses: {task.uses}` is not understood",
            file=unit.file,
            path=path,
            help=_form_help(unit, task.uses),
        )


def _known(unit: Unit, form: str) -> Mapping[str, str]:
    scope = unit.scope
    if form == "action":
        return scope.actions
    return scope.agents if form == "agent" else scope.workflows


def _elsewhere(unit: Unit, name: str) -> str | None:
    """Return a hint when the name exists in another form."""
    for form in ("action", "agent", "workflow"):
        if name in _known(unit, form):
            return f"{name!r} is declared as another thing: did you mean '{form}:{name}'?"
    return None


def _form_help(unit: Unit, text: str) -> str:
    form, colon, name = text.partition(":")
    if colon:
        meant: UsesForm | str | None = "action" if form == "module" else nearest(form, USES_FORMS)
        if meant is not None and meant != "router":
            return f"did you mean '{meant}:{name}'?"
    for one in ("action", "agent", "workflow"):
        if text in _known(unit, one):
            return f"did you mean '{one}:{text}'?"
    if nearest(text, ["router"]):
        return "did you mean 'router'?"
    return "write action:NAME, agent:NAME, workflow:NAME or router"


def _inverse(library: Library, unit: Unit, position: int, task: Task, report: Report) -> None:
    """Check that a compensation names an action with an effect."""
    if task.compensate is None:
        return
    path = unit.at(position, "compensate.uses")
    form, _, name = task.compensate.uses.partition(":")
    known = unit.scope.actions
    if form == "action" and name in known:
        entry = library.actions[known[name]]
        if kind_of(entry.kind).is_effectful:
            return
        message = f"the inverse of {task.id!r} is {entry.kind}, which has no effect"
        help = "an inverse must change something, such as builtin.write or builtin.shell.exec"
        report.add("incompatible_state", message, file=unit.file, path=path, help=help)
        return
    report.add(
        "missing_reference",
        f"the inverse of {task.id!r} uses {task.compensate.uses!r}, which is not a known action",
        file=unit.file,
        path=path,
        help=did_you_mean(task.compensate.uses, [f"action:{one}" for one in known]),
    )


def _cycles(unit: Unit, report: Report) -> None:
    for cycle in topological(unit.needs)[1]:
        position = unit.index[cycle[0]]
        place = list(unit.tasks[position].needs).index(cycle[1])
        report.add(
            "dependency_cycle",
            f"the tasks wait for each other: {written(cycle)}",
            file=unit.file,
            path=unit.at(position, f"needs[{place}]"),
            help="remove one of these needs",
        )


def _recursion(library: Library, report: Report) -> None:
    """Refuse workflows that invoke themselves, directly or through others."""
    invoked = {
        name: [uses.name for uses in unit.uses.values() if uses.form == "workflow"]
        for name, unit in library.units.items()
    }
    for cycle in topological(invoked)[1]:
        unit = library.units[cycle[0]]
        task = next(
            one for one, uses in unit.uses.items() if uses == Uses(form="workflow", name=cycle[1])
        )
        report.add(
            "dependency_cycle",
            f"the workflows invoke each other: {written(cycle)}",
            file=unit.file,
            path=unit.at(unit.index[task], "uses"),
            help="a sub-workflow cannot contain itself; use a bounded `loop` for repetition",
        )
