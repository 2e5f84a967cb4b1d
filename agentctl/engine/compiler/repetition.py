"""Stage: are `foreach`, `matrix` and `loop` well-formed and within their bounds.

Above: the pipeline. Below: the library. The expander relies on what is checked here.
Source: specification, sections 1.1 and 3 (expansion).
"""

from __future__ import annotations

import re
from math import prod
from typing import TYPE_CHECKING, Final

from attr import frozen

from agentctl.engine.compiler.sources import warn_of_templates
from agentctl.engine.template import TemplateError, parse_condition
from agentctl.engine.values.layers import check_binding
from agentctl.limits import EXPANSION_ITEMS_MAX, LOOP_ITERATIONS_MAX
from agentctl.value import Value

if TYPE_CHECKING:
    from agentctl.engine.compiler.library import Unit
    from agentctl.engine.compiler.report import Report
    from agentctl.engine.document.flow_model import Foreach, Loop, Matrix
    from agentctl.engine.document.model import Task

_NAME: Final = re.compile(r"[A-Za-z0-9_-]+")


def check_repetition(unit: Unit, report: Report) -> None:
    """Check every repeated task of a unit."""
    for position, task in enumerate(unit.tasks):
        checks = _Checks(unit=unit, position=position, task=task, report=report)
        checks.combination()
        if task.foreach is not None:
            checks.foreach(task.foreach)
        if task.matrix is not None:
            checks.matrix(task.matrix)
        if task.loop is not None:
            checks.loop(task.loop)


@frozen(kw_only=True, eq=False, repr=False)
class _Checks(Value):
    unit: Unit
    position: int
    task: Task
    report: Report

    def combination(self) -> None:
        task = self.task
        given = [
            name
            for name, value in (
                ("foreach", task.foreach),
                ("matrix", task.matrix),
                ("loop", task.loop),
                ("route", task.route),
            )
            if value is not None
        ]
        if len(given) > 1:
            message = f"{' and '.join(given)} exclude each other"
            self._problem(given[1], message, "use one of them")
        if task.loop is None:
            return
        if task.when is not None:
            message = "a loop has no `when`"
            self._problem("when", message, "its `while` is asked before every iteration")
        if task.uses.startswith("workflow:"):
            help = "loop over an action or agent, or use foreach to repeat a workflow"
            self._problem("loop", "a sub-workflow cannot be a loop's body", help)

    def foreach(self, foreach: Foreach) -> None:
        count = len(foreach.items)
        self._count("foreach.items", count, foreach.max_items, "foreach.maxItems")
        self._name("foreach.as", foreach.as_)
        hidden = check_binding(
            foreach.as_,
            self.unit.variables[self.position],
            file=self.unit.file,
            place=self.unit.at(self.position, "foreach.as"),
        )
        if hidden is not None:
            self.report.extend([hidden])
        place = self.unit.at(self.position, "foreach.items")
        warn_of_templates(foreach.items, self.report, self.unit.file, place)

    def matrix(self, matrix: Matrix) -> None:
        if not matrix.axes:
            self._problem("matrix.axes", "a matrix needs at least one axis")
            return
        for name, values in matrix.axes.items():
            path = f"matrix.axes.{name}"
            self._name(path, name)
            if not values:
                self._problem(path, f"axis {name!r} has no values", "without values nothing runs")
            place = self.unit.at(self.position, path)
            warn_of_templates(values, self.report, self.unit.file, place)
        count = prod(len(values) for values in matrix.axes.values())
        self._count("matrix.axes", count, matrix.max_items, "matrix.maxItems")

    def loop(self, loop: Loop) -> None:
        if not 1 <= loop.max_iterations <= LOOP_ITERATIONS_MAX:
            message = f"maxIterations is {loop.max_iterations}; 1 to {LOOP_ITERATIONS_MAX} can be"
            self._problem("loop.maxIterations", message)
        try:
            parse_condition(loop.while_, allow_loop=True)
        except TemplateError as error:
            self.report.add(
                "invalid_template",
                error.message,
                file=self.unit.file,
                path=self.unit.at(self.position, "loop.while"),
                help=error.help,
            )

    def _count(self, inside: str, count: int, limit: int, name: str) -> None:
        bound = min(limit, EXPANSION_ITEMS_MAX)
        if count > bound:
            message = f"{self.task.id!r} would run {count} times; {name} is {bound}"
            help = None if bound == EXPANSION_ITEMS_MAX else f"raise {name}, or give fewer values"
            self._problem(inside, message, help)

    def _name(self, inside: str, name: str) -> None:
        if not _NAME.fullmatch(name):
            message = f"{name[:40]!r} is no name that a template can say"
            self._problem(inside, message, "use letters, digits, _ and -")

    def _problem(self, inside: str, message: str, help: str | None = None) -> None:
        self.report.add(
            "invalid_expansion",
            message,
            file=self.unit.file,
            path=self.unit.at(self.position, inside),
            help=help,
        )
