"""What a compilation is given, and what it gives back.

Above: the CLI and the embedded door. Below: the document model and the ports.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from attr import field, frozen

from agentctl.engine.values.capture import CapturedSources
from agentctl.value import Value
from agentctl.version import VERSION

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from agentctl.diagnostics import Diagnostic
    from agentctl.engine.compiler.report import Places
    from agentctl.engine.document.model import Workflow
    from agentctl.engine.plan import Plan
    from agentctl.engine.records import Idempotency
    from agentctl.engine.values.capture import SourceReader
    from agentctl.engine.values.layers import Layer
    from agentctl.jsonvalue import JsonObject


@frozen(kw_only=True, eq=False, repr=False)
class KnownAction(Value):
    """A Python function that the embedding service registered under a name."""

    name: str
    idempotency: Idempotency = "at_most_once"
    input_schema: JsonObject | None = None
    probe: JsonObject | None = None


@frozen(kw_only=True, eq=False, repr=False)
class CompileSource(Value):
    """One document to compile.

    `file` is its name for people, `folder` the directory that its file references start from
    (handed to `reader` as the base). `overrides` are the names of the variables that the
    invocation gives. `reader` stands for the file system; without one, no file exists.
    """

    document: Workflow
    file: str
    places: Places
    folder: str = ""
    reader: SourceReader = field(factory=CapturedSources)
    overrides: Collection[str] = ()
    known_actions: Mapping[str, KnownAction] = field(factory=dict)
    version: str = VERSION


@frozen(kw_only=True, eq=False, repr=False)
class CompileResult(Value):
    """The plan, unless there are errors; every diagnostic; the variable layers by owner.

    `layers` maps `spec` and `spec.tasks.ID` (and the tasks of sub-workflows) to their layers,
    low to high, without those of the invocation.
    """

    plan: Plan | None
    diagnostics: Sequence[Diagnostic]
    layers: Mapping[str, Sequence[Layer]] = field(factory=dict)
