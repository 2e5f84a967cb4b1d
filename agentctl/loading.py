"""From a path, a text or a mapping to a compiled workflow, ready to run.

Above: the door. Below: the reader, the compiler and the files that documents name. What is
read here is captured: a run never reads a source again.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, cast

from attr import field, frozen

from agentctl.diagnostics import Diagnostic, has_errors
from agentctl.effects.sources import SourceBudget, SourceFiles, split_argument
from agentctl.engine.compiler.pipeline import compile_workflow
from agentctl.engine.compiler.source import CompileSource, KnownAction
from agentctl.engine.document.model import Workflow
from agentctl.engine.document.reader import read_data, read_document
from agentctl.engine.values.capture import read_variables
from agentctl.engine.values.inputs import resolve_inputs
from agentctl.engine.values.layers import invocation_layers, merge_layers
from agentctl.errors import DocumentError, SourceError, UsageError
from agentctl.jsonvalue import canonical
from agentctl.limits import DOCUMENT_BYTES_MAX
from agentctl.value import Value

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from agentctl.effects.functions import FunctionAction
    from agentctl.engine.compiler.source import CompileResult
    from agentctl.engine.plan import Plan
    from agentctl.engine.values.layers import Layer
    from agentctl.jsonvalue import JsonObject, JsonValue

UNNAMED = "<workflow>"


@frozen(kw_only=True, eq=False, repr=False)
class Loaded(Value):
    """A compiled workflow: its plan, its text, and the variables that the invocation adds.

    `folder` is where the files that it names are looked for.
    """

    plan: Plan
    text: str
    file: str
    folder: str
    warnings: Sequence[Diagnostic] = ()
    legacy: bool = False
    overrides: JsonObject = field(factory=dict)
    layers: Mapping[str, Sequence[Layer]] = field(factory=dict)

    def inputs(self, given: JsonObject | None) -> JsonObject:
        """Return the inputs of a run: the defaults, overlaid and checked.

        Raises DocumentError with every unknown name, wrong type and violation of the schema.
        """
        definitions = self.plan.definitions
        return resolve_inputs(
            cast("JsonObject", definitions["inputs"]),
            inputs_file=given,
            schema=definitions["inputSchema"],
            also_known=self.used_inputs(),
        )

    @property
    def file_name(self) -> str:
        """Return the name of the file in `folder`, or "" for a workflow that came as text."""
        return "" if self.file == UNNAMED else os.path.basename(self.file)

    @property
    def needs_loop(self) -> bool:
        """Return whether a run of this can wait for anything; if not, it needs no event loop."""
        from agentctl.engine.programs import operations

        return bool(operations(self.plan))

    def used_inputs(self) -> frozenset[str]:
        """Return the names of inputs that templates use; they need no default."""
        from agentctl.engine.template import placed_references

        top = [task for task in self.plan.tasks.values() if task.inputs_from is None]
        texts: list[JsonValue] = [self.plan.definitions["outputs"]]
        for task in top:
            texts += [task.input, task.when, task.uses_name]
        # A loop's condition may hold `loop.output`, which is no reference anywhere else.
        used, _ = placed_references(texts)
        return frozenset(one.path[1] for one in used if one.path[0] == "inputs")


def load(
    source: str | Path | Mapping[str, JsonValue],
    *,
    workspace: str,
    vars_files: Sequence[str],
    variables: JsonObject,
    functions: Iterable[FunctionAction],
) -> Loaded:
    """Read and compile. Raises DocumentError with every problem at once."""
    budget = SourceBudget()
    raw, file, folder = _bytes_of(source, workspace)
    overrides, layers = _overrides(vars_files, variables, workspace, budget)
    place = _Place(file, folder, workspace)
    return _compiled(raw, place, budget, overrides, layers, functions)


def load_again(
    raw: bytes,
    path: str,
    *,
    workspace: str,
    variables: JsonObject,
    functions: Iterable[FunctionAction],
) -> Loaded:
    """Compile a text as the file at `path`, for a run that was started with these variables.

    Raises DocumentError.
    """
    place = _Place(path, os.path.dirname(path), workspace)
    return _compiled(raw, place, SourceBudget(), variables, [], functions)


@frozen(eq=False, repr=False)
class _Place(Value):
    """Where a document comes from: its name, the folder of its references, the workspace."""

    file: str
    folder: str
    workspace: str


def _compiled(
    raw: bytes,
    place: _Place,
    budget: SourceBudget,
    overrides: JsonObject,
    layers: list[Layer],
    functions: Iterable[FunctionAction],
) -> Loaded:
    file, folder = place.file, place.folder
    read = read_document(raw, file)
    if not isinstance(read.document, Workflow):
        raise DocumentError(read.diagnostics or [_not_a_workflow(file)])
    result = compile_workflow(
        CompileSource(
            document=read.document,
            file=file,
            places=read.places,
            folder=folder,
            reader=SourceFiles(_source_root(place.workspace, folder), budget),
            overrides=frozenset(overrides),
            known_actions={one.name: _known(one) for one in functions},
        )
    )
    return Loaded(
        plan=_plan_of(result, read.diagnostics),
        text=raw.decode("utf-8-sig"),
        file=file,
        folder=os.path.abspath(folder),
        warnings=[*read.diagnostics, *result.diagnostics],
        legacy=read.legacy,
        overrides=overrides,
        layers={name: [*found, *layers] for name, found in result.layers.items()},
    )


def _not_a_workflow(file: str) -> Diagnostic:
    return Diagnostic(
        code="schema_violation",
        message="this is a pack manifest; a workflow is needed here",
        file=file,
        path="apiVersion",
        line=1,
        column=1,
        help="list the pack in a workflow's spec.packs",
    )


def _plan_of(result: CompileResult, earlier: Sequence[Diagnostic]) -> Plan:
    found = [*earlier, *result.diagnostics]
    if result.plan is None or has_errors(found):
        raise DocumentError(found)
    return result.plan


def _known(action: FunctionAction) -> KnownAction:
    return KnownAction(
        name=action.name,
        idempotency=action.idempotency,
        input_schema=action.input_schema,
        probe=action.probe,
    )


def _bytes_of(
    source: str | Path | Mapping[str, JsonValue], workspace: str
) -> tuple[bytes, str, str]:
    """Return a document's bytes, its name for people, and the folder of its file references."""
    if isinstance(source, Path) or (isinstance(source, str) and "\n" not in source):
        return _read(str(source)), str(source), os.path.dirname(os.path.abspath(source))
    if isinstance(source, str):
        return source.encode("utf-8", "surrogatepass"), UNNAMED, workspace
    try:
        return canonical(dict(source)).encode("utf-8", "surrogatepass"), UNNAMED, workspace
    except (TypeError, ValueError) as error:
        raise UsageError(f"the workflow is not JSON: {error}") from None


def _read(path: str) -> bytes:
    """Read a workflow file; one byte over the limit is enough to know that it is too large."""
    try:
        with open(path, "rb") as file:
            return file.read(DOCUMENT_BYTES_MAX + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UsageError(
            f"{path!r} cannot be read: {reason}", help="give the path of a workflow file"
        ) from None


def _source_root(workspace: str, folder: str) -> str:
    """Return the folder that sources may come from: the workspace when it holds the workflow."""
    root = os.path.realpath(workspace)
    inside = os.path.realpath(folder)
    return root if os.path.commonpath([root, inside]) == root else inside


def _overrides(
    vars_files: Sequence[str], variables: JsonObject, workspace: str, budget: SourceBudget
) -> tuple[JsonObject, list[Layer]]:
    """Return the variables of the invocation, merged, and their layers."""
    contents: list[tuple[str, JsonObject]] = []
    problems: list[Diagnostic] = []
    for path in vars_files:
        values, found = _vars_file(path, workspace, budget)
        contents.append((path, values))
        problems += found
    if problems:
        raise DocumentError(problems)
    layers = invocation_layers(contents, list(variables.items()))
    return merge_layers(layers)[0], layers


def _vars_file(
    path: str, workspace: str, budget: SourceBudget
) -> tuple[JsonObject, list[Diagnostic]]:
    name, base = split_argument(path, str(Path.cwd()))
    root = _source_root(workspace, base)
    try:
        raw = SourceFiles(root, budget).read(name, base)
    except SourceError as error:
        raise UsageError(f"--vars-file: {error.message}", help=error.help) from None
    return read_variables(raw, name=path, place="vars", read_data=read_data, file=path)
