"""How tasks are repeated, routed, undone and put into sub-workflows.

Above: the hints, when a document does one of these. Source: specification, section 1.1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from attr import frozen

from agentctl.engine.document.fields import item
from agentctl.engine.document.words import DAY_SECONDS, JSON_SCHEMA, Json
from agentctl.value import Value

if TYPE_CHECKING:
    from agentctl.engine.document.model import Task


@frozen(kw_only=True, eq=False, repr=False)
class Retry(Value):
    """How often an attempt is repeated after a definite failure that may pass."""

    max_attempts: int = item("Attempts in all.", 1, minimum=1, maximum=20)
    backoff_ms: int = item("Base of the exponential back-off.", 0, minimum=0, maximum=60_000)


@frozen(kw_only=True, eq=False, repr=False)
class Foreach(Value):
    """One child per item."""

    items: list[Json] = item("The items.")
    as_: str = item("Name of the variable that holds the item.", "item")
    max_items: int = item("Bound.", 32, minimum=1, maximum=256)


@frozen(kw_only=True, eq=False, repr=False)
class Matrix(Value):
    """One child per combination."""

    axes: dict[str, list[Json]] = item("Values by axis.")
    max_items: int = item("Bound.", 32, minimum=1, maximum=256)


@frozen(kw_only=True, eq=False, repr=False)
class Loop(Value):
    """Iterations while a condition holds."""

    max_iterations: int = item("Bound.", minimum=1, maximum=64)
    while_: str = item("Exact condition.")
    initial: Json = item("The previous output of the first iteration.", None)


@frozen(kw_only=True, eq=False, repr=False)
class RouteCase(Value):
    """One typed case."""

    equals: Json = item("The value.")
    tasks: list[str] = item("Its destinations.")


@frozen(kw_only=True, eq=False, repr=False)
class Route(Value):
    """Where to go on."""

    select: str = item("Exact template of the value.")
    cases: list[RouteCase] = item("The cases.")
    default: list[str] = item("Destinations when no case fits.", factory=list)


@frozen(kw_only=True, eq=False, repr=False)
class Compensate(Value):
    """How a task is undone."""

    uses: str = item("action:NAME of the inverse.")
    with_: dict[str, Json] = item("Its input.", factory=dict)
    retry: Retry = item("Its retries.", factory=Retry)
    timeout_seconds: int | None = item("Time.", None, minimum=1, maximum=DAY_SECONDS)


@frozen(kw_only=True, eq=False, repr=False)
class Subworkflow(Value):
    """A reusable part with typed boundaries."""

    version: str = item("Semantic version.")
    inputs: dict[str, Json] = item("Default inputs.", factory=dict)
    input_schema: Json = item("JSON Schema of the inputs.", None, type=JSON_SCHEMA)
    outputs: dict[str, Json] = item("Templates of the outputs.", factory=dict)
    output_schema: Json = item("JSON Schema of the outputs.", None, type=JSON_SCHEMA)
    tasks: list[Task] = item("Its tasks.", minItems=1)
