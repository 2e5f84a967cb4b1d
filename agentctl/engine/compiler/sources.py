"""Stage: the files that the document names, captured once, and the variables in layers.

Above: the pipeline. Below: the `SourceReader` port and the layers. Fills in `variables` of every
unit and the agents of the library. Never: opening a file itself.
Source: specification, section 2.3.
"""

from __future__ import annotations

from hashlib import sha256
from posixpath import join, normpath
from typing import TYPE_CHECKING

from attr import define, evolve, field

from agentctl.engine.compiler.library import AgentEntry, Described
from agentctl.engine.document.reader import read_data
from agentctl.engine.template import is_template
from agentctl.engine.values.capture import capture, owner_references, read_variables
from agentctl.engine.values.layers import Layer, Owner, check_names, merge_layers, owner_layers
from agentctl.errors import SourceError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from agentctl.engine.compiler.library import Library, Unit
    from agentctl.engine.compiler.report import Report
    from agentctl.engine.compiler.source import CompileSource
    from agentctl.engine.document.agent_model import Agent, Tool
    from agentctl.engine.document.model import Task
    from agentctl.engine.values.capture import SourceReader
    from agentctl.jsonvalue import JsonObject, JsonValue


@define(eq=False, repr=False)
class Captured:
    """A SourceReader that reads every file once and keeps its digest.

    `folder` is what relative paths of the document start from; the digests are kept under the
    paths relative to it, so that they are the same on every machine. `beside` is that folder as
    people write it.
    """

    reader: SourceReader
    folder: str
    beside: str = ""
    digests: dict[str, str] = field(factory=dict)
    _contents: dict[str, bytes] = field(factory=dict)

    def read(self, path: str, base: str) -> bytes:
        """Return a file's bytes; `base` is relative to the folder. Raises SourceError."""
        name = normpath(join(base, path))
        found = self._contents.get(name)
        if found is None:
            found = self.reader.read(path, join(self.folder, base))
            self._contents[name] = found
            self.digests[name] = sha256(found).hexdigest()
        return found

    def name_of(self, path: str, base: str) -> str:
        """Return what people call a file."""
        return normpath(join(self.beside, base, path))

    def peek(self, path: str, base: str) -> bytes:
        """Return a file's bytes, which do not belong to the workflow. Raises SourceError."""
        return self.reader.read(path, join(self.folder, base))


@define(eq=False, repr=False)
class SourceStage:
    """Reads variables and instructions; one object for one compilation."""

    captured: Captured
    report: Report
    layers: dict[str, list[Layer]] = field(factory=dict)

    def run(self, source: CompileSource, library: Library) -> None:
        """Fill in the library's agents and every unit's variables."""
        spec, file = source.document.spec, source.file
        whole = self._layers(
            Owner(origin="spec", place="spec", files=tuple(spec.vars_files), values=spec.vars),
            file,
        )
        self.layers["spec"] = whole
        inner: dict[str, list[Layer]] = {}
        for name, agent in spec.agents.items():
            place = f"spec.agents.{name}"
            inner[name] = self._layers(
                Owner(origin=place, place=place, files=tuple(agent.vars_files), values=agent.vars),
                file,
            )
            described = self._described(agent, file, place, spec.tools)
            library.agents[name] = AgentEntry(
                name=name,
                agent=described.agent,
                instructions=described.instructions,
                record=described.record,
                variables=merge_layers([*whole, *inner[name]])[0],
                place=place,
            )
        for unit in library.units.values():
            self.unit(unit, whole if unit.scope.owns_spec else [], inner)

    def unit(self, unit: Unit, whole: list[Layer], agents: dict[str, list[Layer]]) -> None:
        """Fill in the variables of a unit's tasks."""
        shared = merge_layers(whole)[0]
        for position, task in enumerate(unit.tasks):
            layers = [*whole]
            if task.uses.startswith("agent:"):
                layers += agents.get(task.uses.removeprefix("agent:"), [])
            if task.vars or task.vars_files:
                layers += self._own(unit, position, task)
            # Most tasks define nothing of their own; they can share one mapping.
            plain = len(layers) == len(whole)
            unit.variables.append(shared if plain else merge_layers(layers)[0])
            self.layers[f"{unit.place}.tasks.{task.id}"] = layers

    def _own(self, unit: Unit, position: int, task: Task) -> list[Layer]:
        owner = Owner(
            origin=f"{unit.place}.tasks.{task.id}",
            place=unit.at(position),
            files=tuple(task.vars_files),
            values=task.vars,
        )
        return self._layers(owner, unit.file, unit.base)

    def _layers(self, owner: Owner, where: str, base: str = "") -> list[Layer]:
        """Return an owner's layers, and report what is wrong with them."""
        if not owner.files and not owner.values:
            return []
        references = owner_references(owner, base)
        raw, problems = capture(references, self.captured, file=where)
        self.report.extend(problems)
        contents: dict[str, JsonObject] = {}
        for one in references:
            if one.place not in raw:
                continue
            values, problems = read_variables(
                raw[one.place],
                name=self.captured.name_of(one.path, base),
                place=one.place,
                read_data=read_data,
                file=where,
            )
            contents[one.place] = values
            self.report.extend(problems)
        place = f"{owner.place}.vars"
        self.report.extend(check_names(owner.values, file=where, place=place))
        warn_of_templates(owner.values, self.report, where, place)
        return owner_layers(owner, contents)

    def _described(
        self, agent: Agent, file: str, place: str, tools: Mapping[str, Tool]
    ) -> Described:
        """Return an agent with what its files say."""
        if agent.file is None:
            return Described(agent=agent, instructions=self._instructions(agent, file, place))
        raw = self._bytes(agent.file, "file", file, place)
        if raw is None:
            return Described(agent=evolve(agent, tools=[], model=agent.model or ""))
        # Most workflows name no agent file, and need none of its readers.
        from agentctl.engine.compiler.agent_files import AgentFileStage

        stage = AgentFileStage(
            agent=agent,
            place=place,
            file=file,
            name=self.captured.name_of(agent.file, ""),
            tools=tools,
            report=self.report,
        )
        return stage.run(raw)

    def _instructions(self, agent: Agent, file: str, place: str) -> str:
        """Return the text that the agent is given."""
        if agent.instructions_file is None:
            return agent.instructions or ""
        key = "instructionsFile"
        raw = self._bytes(agent.instructions_file, key, file, place)
        if raw is None:
            return ""
        try:
            return raw.decode("utf-8")
        except UnicodeDecodeError:
            message = f"{key}: {agent.instructions_file!r} is not UTF-8 text"
            self.report.add("source_error", message, file=file, path=f"{place}.{key}")
            return ""

    def _bytes(self, source: str, key: str, file: str, place: str) -> bytes | None:
        """Return the bytes of a file that an agent names, or report why there are none."""
        try:
            if is_template(source):
                raise SourceError("a template cannot stand in the path of a file")
            return self.captured.read(source, "")
        except SourceError as error:
            message, help = f"{key}: {error.message}", error.help
        self.report.add("source_error", message, file=file, path=f"{place}.{key}", help=help)
        return None


def fill_variables(library: Library, captured: Captured, report: Report) -> None:
    """Fill in the variables of units that no document stands behind."""
    stage = SourceStage(captured, report)
    for unit in library.units.values():
        stage.unit(unit, [], {})


def warn_of_templates(
    values: JsonObject | Sequence[JsonValue], report: Report, file: str, place: str
) -> None:
    """Warn that a template in plain data stays text."""
    pairs = values.items() if isinstance(values, dict) else enumerate(values)
    for key, value in pairs:
        if _holds_template(value):
            report.add(
                "invalid_template",
                "this is data: a template inside it is not expanded",
                file=file,
                path=f"{place}[{key}]" if isinstance(key, int) else f"{place}.{key}",
                help="put the template into `with`",
                severity="warning",
            )


def _holds_template(value: JsonValue) -> bool:
    if isinstance(value, str):
        return is_template(value)
    if isinstance(value, dict):
        return any(map(_holds_template, value.values()))
    return isinstance(value, list) and any(map(_holds_template, value))
