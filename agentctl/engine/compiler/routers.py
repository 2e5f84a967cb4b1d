"""Stage: routers and their destinations.

Above: the pipeline. Below: the library and the references. Fills in `routers` of every unit.
Source: specification, section 3 (router).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentctl.engine.template import TemplateError, parse
from agentctl.jsonvalue import canonical
from agentctl.suggest import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentctl.engine.compiler.library import Unit
    from agentctl.engine.compiler.report import Report
    from agentctl.engine.document.flow_model import Route
    from agentctl.engine.document.model import Task
    from agentctl.jsonvalue import JsonValue


def check_routers(unit: Unit, report: Report) -> None:
    """Check every router of a unit, and note whom it may skip."""
    for position, task in enumerate(unit.tasks):
        is_router = task.uses == "router"
        if is_router and task.route is None:
            _problem(unit, position, report, "uses", f"router {task.id!r} has no `route`")
        elif task.route is not None and not is_router:
            message = f"task {task.id!r} has a `route` but is no router"
            _problem(unit, position, report, "route", message, "write `uses: router`")
        elif task.route is not None:
            _check(unit, position, task, task.route, report)


def destinations(route: Route) -> Iterator[tuple[str, str]]:
    """Return every destination and where it stands inside the route."""
    for number, case in enumerate(route.cases):
        for place, name in enumerate(case.tasks):
            yield name, f"cases[{number}].tasks[{place}]"
    for place, name in enumerate(route.default):
        yield name, f"default[{place}]"


def _check(unit: Unit, position: int, task: Task, route: Route, report: Report) -> None:
    _select(unit, position, route, report)
    _cases(unit, position, route, report)
    seen: set[str] = set()
    for name, inside in destinations(route):
        if name in seen:
            message = f"router {task.id!r} names {name!r} more than once"
            help = "every destination belongs to one case, or to the default"
            _problem(unit, position, report, f"route.{inside}", message, help)
            continue
        seen.add(name)
        _destination(unit, position, task, name, inside, report)
    if not seen:
        message = f"router {task.id!r} leads nowhere"
        _problem(unit, position, report, "route", message, "name a destination in `cases`")


def _select(unit: Unit, position: int, route: Route, report: Report) -> None:
    try:
        exact = parse(route.select).exact
    except TemplateError:
        return  # The template stage reports it.
    if exact is None:
        message = "`select` must be exactly one template"
        help = "write ${{ tasks.ID.output.FIELD }} and nothing around it"
        _problem(unit, position, report, "route.select", message, help)


def _cases(unit: Unit, position: int, route: Route, report: Report) -> None:
    seen: set[str] = set()
    for number, case in enumerate(route.cases):
        key = canonical(_comparable(case.equals))
        if key in seen:
            message = f"another case equals {canonical(case.equals)[:60]} already"
            path = f"route.cases[{number}].equals"
            _problem(unit, position, report, path, message, "merge the two cases")
        seen.add(key)


def _comparable(value: JsonValue) -> JsonValue:
    """Return a value in which equal numbers look alike, as a router compares them."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {key: _comparable(one) for key, one in value.items()}
    return [_comparable(one) for one in value] if isinstance(value, list) else value


def _destination(
    unit: Unit, position: int, router: Task, name: str, inside: str, report: Report
) -> None:
    path = f"route.{inside}"
    if name not in unit.index or name == router.id:
        report.add(
            "missing_reference",
            f"router {router.id!r} leads to {name!r}, which is not another task",
            file=unit.file,
            path=unit.at(position, path),
            help=did_you_mean(name, [one for one in unit.index if one != router.id]),
        )
        return
    if router.id not in unit.needs[name]:
        message = f"{name!r} is a destination of {router.id!r} but does not need it"
        help = f"add {router.id} to the needs of {name}"
        _problem(unit, position, report, path, message, help)
        return
    unit.routers[name] = (*unit.routers.get(name, ()), router.id)


def _problem(
    unit: Unit,
    position: int,
    report: Report,
    inside: str,
    message: str,
    help: str | None = None,
) -> None:
    report.add(
        "invalid_router", message, file=unit.file, path=unit.at(position, inside), help=help
    )
