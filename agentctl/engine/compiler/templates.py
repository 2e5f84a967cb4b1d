"""Stage: every template is well-formed and reads only what its task can see.

Above: the pipeline. Below: templates and the library. Where only a run can tell (an input that
nothing declares, a field of an output), nothing is refused.
Source: specification, section 2.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from attr import evolve, frozen

from agentctl.engine.compiler.order import Closure
from agentctl.engine.expression import PROBE_ROOT
from agentctl.engine.template import (
    TemplateError,
    dotted,
    parse_condition,
    placed_references,
)
from agentctl.engine.values.inputs import known_inputs
from agentctl.suggest import did_you_mean
from agentctl.value import Value

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from agentctl.engine.compiler.library import ActionEntry, AgentEntry, Library, Unit
    from agentctl.engine.compiler.report import Report
    from agentctl.engine.document.model import Task
    from agentctl.engine.template import Path
    from agentctl.jsonvalue import JsonObject, JsonValue


@frozen(kw_only=True, eq=False, repr=False)
class UnitView(Value):
    """What the templates of one unit may name, whichever task they belong to.

    `inputs` is None when the unit leaves its inputs open.
    """

    library: Library
    unit: Unit
    closure: Closure
    report: Report
    inputs: frozenset[str] | None
    memory: Collection[str]
    overrides: Collection[str]


def unit_view(
    library: Library,
    unit: Unit,
    report: Report,
    memory: Collection[str],
    overrides: Collection[str],
) -> UnitView:
    """Gather what a unit's templates may name."""
    given = () if unit.is_root else invocation_inputs(library, unit.name)
    inputs = known_inputs(unit.inputs, unit.input_schema, given)
    return UnitView(
        library=library,
        unit=unit,
        closure=Closure(unit.needs),
        report=report,
        inputs=inputs,
        memory=memory,
        overrides=overrides,
    )


def invocation_inputs(library: Library, name: str) -> set[str]:
    """Return every input that some invocation gives a sub-workflow."""
    found: set[str] = set()
    for unit in library.units.values():
        for task in unit.tasks:
            uses = unit.uses.get(task.id)
            if uses is not None and uses.form == "workflow" and uses.name == name:
                found.update(task.with_)
    return found


def check_templates(view: UnitView, spec_variables: JsonObject) -> None:
    """Check the templates of every task and of the outputs."""
    unit = view.unit
    for position, task in enumerate(unit.tasks):
        _TaskCheck(
            view=view,
            task=task,
            position=position,
            variables={**unit.variables[position], **bindings(task)},
        ).run()
    outside = _Check(view=view, variables=spec_variables)
    outside.value(unit.outputs, unit.file, f"{unit.place}.outputs")


def bindings(task: Task) -> JsonObject:
    """Return the variables that a repeated task is given: their names, and null for values."""
    if task.foreach is not None:
        return {task.foreach.as_: None, "foreachIndex": 0}
    if task.matrix is not None:
        cell: JsonObject = dict.fromkeys(task.matrix.axes)
        return {"matrix": cell, "matrixIndex": 0}
    if task.loop is not None:
        return {"loopIndex": 0, "loopPrevious": None}
    return {}


@frozen(kw_only=True, eq=False, repr=False)
class _Check(Value):
    """Checks values that no task owns: here every task of the unit may be named."""

    view: UnitView
    variables: JsonObject

    def value(self, value: JsonValue, file: str, place: str) -> None:
        """Check every template inside a value."""
        found, errors = placed_references(value, place)
        for bad in errors:
            self._problem("invalid_template", bad.error.message, file, bad.place, bad.error.help)
        for one in found:
            self.path(one.path, file, one.place)

    def condition(self, text: str, file: str, place: str, *, allow_loop: bool = False) -> None:
        """Check a `when` or `while`."""
        try:
            parsed = parse_condition(text, allow_loop=allow_loop)
        except TemplateError as error:
            self._problem("invalid_template", error.message, file, place, error.help)
            return
        for path in parsed.references:
            self.path(path, file, place)

    def path(self, path: Path, file: str, place: str) -> None:
        """Check one path."""
        root, name = path[0], path[1]
        view = self.view
        if root == PROBE_ROOT:
            message = f"{dotted(path)} is known in the `with` of a probe only"
            self._problem("invalid_template", message, file, place, None)
        elif root == "tasks":
            self.task_path(name, path, file, place)
        elif root == "vars":
            self._variable(path, file, place)
        elif root == "memory":
            if name not in view.memory:
                message = f"no task writes the memory key {name!r}"
                self._missing(message, name, view.memory, file, place)
        elif view.inputs is not None and name not in view.inputs:
            where = "workflow" if view.unit.is_root else f"sub-workflow {view.unit.name!r}"
            self._missing(f"the {where} has no input {name!r}", name, view.inputs, file, place)

    def task_path(self, name: str, path: Path, file: str, place: str) -> None:
        """Check that a task exists; which one is asked for does not matter here."""
        if name not in self.view.unit.index:
            message = f"{dotted(path)}: no task is named {name!r}"
            self._missing(message, name, self.view.unit.index, file, place)

    def _variable(self, path: Path, file: str, place: str) -> None:
        name = path[1]
        if name in self.view.overrides:
            return
        if name not in self.variables:
            message = f"no variable is named {name!r}"
            known = {*self.variables, *self.view.overrides}
            self._missing(message, name, known, file, place)
            return
        value = self.variables[name]
        for part in path[2:]:
            if not isinstance(value, dict):
                return
            if part not in value:
                message = f"{dotted(path)}: there is no {part!r}"
                self._missing(message, part, value, file, place)
                return
            value = value[part]

    def _missing(
        self, message: str, name: str, known: Collection[str], file: str, place: str
    ) -> None:
        help = did_you_mean(name, known)
        self._problem("missing_reference", message, file, place, help)

    def _problem(
        self,
        code: Literal["invalid_template", "missing_reference"],
        message: str,
        file: str,
        place: str,
        help: str | None,
    ) -> None:
        self.view.report.add(code, message, file=file, path=place, help=help)


@frozen(kw_only=True, eq=False, repr=False)
class _TaskCheck(_Check):
    """Checks the templates of one task, which may name the tasks behind its needs only."""

    task: Task
    position: int
    itself: bool = False

    def run(self) -> None:
        """Check everything of the task that is rendered."""
        task, unit = self.task, self.view.unit
        uses = unit.uses.get(task.id)
        self.value(task.with_, unit.file, self._at("with"))
        if task.when is not None:
            self.condition(task.when, unit.file, self._at("when"))
        if task.route is not None:
            self.value(task.route.select, unit.file, self._at("route.select"))
        if task.loop is not None:
            self.condition(task.loop.while_, unit.file, self._at("loop.while"), allow_loop=True)
        if uses is not None and uses.form == "action":
            self._defaults(self.view.library.actions[uses.name], task.with_)
            self._probe(self.view.library.actions[uses.name])
        elif uses is not None and uses.form == "agent":
            self._instructions(self.view.library.agents[uses.name])
        if task.compensate is not None:
            evolve(self, itself=True).inverse()

    def _instructions(self, entry: AgentEntry) -> None:
        if entry.agent.file is not None:
            # Another host's text, where nothing is expanded.
            return
        inside = "instructions" if entry.agent.instructions_file is None else "instructionsFile"
        root = self.view.library.root
        self.value(entry.instructions, root.file, f"{entry.place}.{inside}")

    def task_path(self, name: str, path: Path, file: str, place: str) -> None:
        """Check that a task exists and is over before this one starts."""
        unit = self.view.unit
        if name not in unit.index:
            super().task_path(name, path, file, place)
        elif name == self.task.id:
            if not self.itself:
                message = f"task {name!r} cannot read its own output"
                self._problem("invalid_template", message, file, place, None)
        elif not self.view.closure.is_behind(self.task.id, name):
            message = f"task {self.task.id!r} reads the output of {name!r} but does not need it"
            help = f"add {name} to the needs of {self.task.id}"
            self._problem("invalid_template", message, file, place, help)

    def inverse(self) -> None:
        """Check what undoes the task, which may read the task's own output."""
        inverse = self.task.compensate
        assert inverse is not None
        unit = self.view.unit
        self.value(inverse.with_, unit.file, self._at("compensate.with"))
        name = unit.scope.actions.get(inverse.uses.removeprefix("action:"))
        if name is not None:
            self._defaults(self.view.library.actions[name], inverse.with_)

    def _defaults(self, action: ActionEntry, given: Mapping[str, JsonValue]) -> None:
        """Check the defaults that the task does not replace."""
        for key, value in action.defaults.items():
            if key not in given:
                self.value(value, action.file, action.place_of_default(key))

    def _probe(self, action: ActionEntry) -> None:
        """Check the inputs and variables that the action's probe names; the rest is its own."""
        probe = action.definition.get("probe")
        if isinstance(probe, dict):
            for one in placed_references(probe["with"], f"{action.place}.probe.with")[0]:
                if one.path[0] in ("inputs", "vars"):
                    self.path(one.path, action.file, one.place)

    def _at(self, inside: str) -> str:
        return self.view.unit.at(self.position, inside)
