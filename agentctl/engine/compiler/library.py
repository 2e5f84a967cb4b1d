"""What a workflow may use: actions, agents and workflows by name, from the document and packs.

Above: every stage after the packs. Below: the document model. Never: deciding what is wrong.

A `Unit` is one list of tasks with its own names: the workflow itself, or a sub-workflow. A unit
is checked once, however often it is invoked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from attr import define, field, frozen

from agentctl.value import Value

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from agentctl.engine.document.agent_model import Agent
    from agentctl.engine.document.model import Task
    from agentctl.engine.records import Idempotency
    from agentctl.jsonvalue import JsonObject, JsonValue

UsesForm: TypeAlias = Literal["action", "agent", "workflow", "router"]
USES_FORMS: Final[tuple[UsesForm, ...]] = ("action", "agent", "workflow", "router")


@frozen(kw_only=True, eq=False, repr=False)
class ActionEntry(Value):
    """An action under its full name; `definition` is its normalised JSON."""

    name: str
    kind: str
    defaults: JsonObject
    timeout_seconds: int | None
    idempotency: Idempotency | None
    definition: JsonObject
    file: str
    place: str

    def place_of_default(self, key: str) -> str:
        """Return where the document gives a default input: below `with`, or a field itself."""
        given = self.definition["with"]
        inside = isinstance(given, dict) and key in given
        return f"{self.place}.with.{key}" if inside else f"{self.place}.{key}"


@frozen(kw_only=True, eq=False, repr=False)
class Described(Value):
    """An agent as it will run: its tools and its model are final.

    `record` is what the plan keeps of its file; None when that cannot be used.
    """

    agent: Agent
    instructions: str = ""
    record: JsonObject | None = None


@frozen(kw_only=True, eq=False, repr=False)
class AgentEntry(Described):
    """An agent under its name, with the variables that it brings."""

    name: str
    variables: JsonObject
    place: str


@frozen(kw_only=True, eq=False, repr=False)
class Scope(Value):
    """What the names in one file mean: as written, to the full name.

    `owns_spec` tells whether the variables of the workflow document are visible.
    """

    actions: Mapping[str, str]
    workflows: Mapping[str, str]
    agents: Mapping[str, str]
    owns_spec: bool


@frozen(kw_only=True, eq=False, repr=False)
class Uses(Value):
    """What a task uses: the form and the full name ("" for a router)."""

    form: UsesForm
    name: str


@define(kw_only=True, eq=False, repr=False)
class Unit:
    """One list of tasks. `place` is where its fields stand in `file`, `base` the file's folder.

    The stages fill in `uses` (by task id, only the ones that resolve), `index` (position of
    each id), `routers` (the routers that may skip each task) and `variables` (of each task, by
    position).
    """

    name: str
    version: str
    file: str
    base: str
    place: str
    tasks: Sequence[Task]
    scope: Scope
    inputs: JsonObject
    input_schema: JsonValue
    outputs: JsonObject
    output_schema: JsonValue
    uses: dict[str, Uses] = field(factory=dict)
    index: dict[str, int] = field(factory=dict)
    needs: dict[str, Sequence[str]] = field(factory=dict)
    routers: dict[str, tuple[str, ...]] = field(factory=dict)
    variables: list[JsonObject] = field(factory=list)

    @property
    def is_root(self) -> bool:
        """Whether this is the workflow itself."""
        return not self.name

    def at(self, position: int, inside: str = "") -> str:
        """Return the path of a task, or of something inside it."""
        place = f"{self.place}.tasks[{position}]"
        return f"{place}.{inside}" if inside else place


@define(kw_only=True, eq=False, repr=False)
class Library:
    """Everything that can be used, by full name; the root unit stands first in `units`."""

    actions: dict[str, ActionEntry] = field(factory=dict)
    agents: dict[str, AgentEntry] = field(factory=dict)
    units: dict[str, Unit] = field(factory=dict)

    @property
    def root(self) -> Unit:
        """The workflow itself."""
        return self.units[""]
