"""Stage: every JSON Schema in the document is one, and fixed values fit.

Above: the pipeline. Below: `schema_check`, imported only when there is a schema at all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from attr import define, field

from agentctl.engine.template import is_template
from agentctl.jsonvalue import canonical

if TYPE_CHECKING:
    from agentctl.engine.compiler.library import Library, Unit
    from agentctl.engine.compiler.report import Report
    from agentctl.engine.document.model import Spec
    from agentctl.engine.schema_check import Violation
    from agentctl.jsonvalue import JsonObject, JsonValue


@define(eq=False, repr=False)
class SchemaStage:
    """Checks schemas; the same schema is looked at once."""

    report: Report
    _known: dict[str, list[Violation]] = field(factory=dict)

    def run(self, spec: Spec, library: Library) -> None:
        """Check every schema of the document and of its packs."""
        file = library.root.file
        for name, agent in spec.agents.items():
            place = f"spec.agents.{name}.structuredOutput"
            self._check(agent.structured_output, file, place)
        for name, tool in spec.tools.items():
            self._check(tool.input_schema, file, f"spec.tools.{name}.inputSchema")
            self._check(tool.output_schema, file, f"spec.tools.{name}.outputSchema")
        if spec.memory.migrate is not None:
            self._check(spec.memory.migrate.schema, file, "spec.memory.migrate.schema")
        self.run_library(library)

    def run_library(self, library: Library) -> None:
        """Check every schema of actions, workflows and tasks."""
        for action in library.actions.values():
            for key in ("inputSchema", "outputSchema"):
                self._check(action.definition.get(key), action.file, f"{action.place}.{key}")
        for unit in library.units.values():
            self._unit(unit)
        for unit in library.units.values():
            self._invocations(library, unit)

    def _unit(self, unit: Unit) -> None:
        self._check(unit.input_schema, unit.file, f"{unit.place}.inputSchema")
        self._check(unit.output_schema, unit.file, f"{unit.place}.outputSchema")
        for position, task in enumerate(unit.tasks):
            self._check(task.output_schema, unit.file, unit.at(position, "outputSchema"))

    def _check(self, schema: JsonValue, file: str, place: str) -> bool:
        """Report what is wrong with a schema; return whether it is there and usable."""
        if schema is None:
            return False
        from agentctl.engine.schema_check import check_schema

        key = canonical(schema)
        if key not in self._known:
            self._known[key] = check_schema(schema)
        for one in self._known[key]:
            path = f"{place}.{one.path}" if one.path else place
            self.report.add("invalid_schema", one.message, file=file, path=path)
        return not self._known[key]

    def _invocations(self, library: Library, unit: Unit) -> None:
        """Check what a sub-workflow is given, as far as it is fixed."""
        for position, task in enumerate(unit.tasks):
            uses = unit.uses.get(task.id)
            if uses is None or uses.form != "workflow":
                continue
            target = library.units[uses.name]
            schema = target.input_schema
            if not self._check(schema, target.file, f"{target.place}.inputSchema"):
                continue
            given = {**target.inputs, **task.with_}
            place = unit.at(position, "with")
            if not _has_template(given):
                self._fits(given, schema, unit.file, place)
            elif isinstance(schema, dict):
                self._complete(given, schema, unit.file, place)

    def _fits(self, given: JsonObject, schema: JsonValue, file: str, place: str) -> None:
        from agentctl.engine.schema_check import violations

        for one in violations(given, schema, place):
            self.report.add("schema_violation", one.message, file=file, path=one.path or place)

    def _complete(self, given: JsonObject, schema: JsonObject, file: str, place: str) -> None:
        required = schema.get("required")
        for name in required if isinstance(required, list) else ():
            if isinstance(name, str) and name not in given:
                message = f"the sub-workflow requires the input {name!r}"
                self.report.add("schema_violation", message, file=file, path=place)


def _has_template(value: JsonValue) -> bool:
    if isinstance(value, str):
        return is_template(value)
    if isinstance(value, dict):
        return any(map(_has_template, value.values()))
    return isinstance(value, list) and any(map(_has_template, value))
