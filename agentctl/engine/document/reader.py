"""Read workflows, pack manifests and variable files from text.

Above: the door and the CLI. Below: the tree, the model, the rules. All problems of a text come
back at once; nothing here raises for what a text says.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, cast

from attr import evolve, frozen

from agentctl.diagnostics import Diagnostic, has_errors
from agentctl.engine.document.migration import is_legacy, migrated_tree
from agentctl.engine.document.model import PackManifest, Workflow
from agentctl.engine.document.rules import check_rules
from agentctl.engine.document.structure import Placed, json_value, structure
from agentctl.engine.document.tree import Mapping, Scalar, Sequence, parse_tree
from agentctl.errors import DocumentError
from agentctl.suggest import did_you_mean

if TYPE_CHECKING:
    from agentctl.diagnostics import DiagnosticCode
    from agentctl.engine.document.tree import Node
    from agentctl.jsonvalue import JsonObject

WORKFLOW_VERSIONS = ("agentctl.dev/v1", "agentctl.dev/v1alpha1")
PACK_VERSIONS = ("agentctl.dev/pack/v1", "agentctl.dev/pack/v1alpha1")
_STEP = re.compile(r"\[(\d+)\]|([^.\[\]]+)")


@frozen
class TreePlaces:
    """Knows where the parts of one text stand."""

    root: Node | None

    def locate(self, path: str) -> tuple[int | None, int | None]:
        """Return line and column of a path, or of its nearest ancestor in the text."""
        node = self.root
        if node is None:
            return None, None
        place = (node.line, node.column)
        for index, name in _STEP.findall(path):
            if isinstance(node, Sequence) and index and int(index) < len(node.items):
                node = node.items[int(index)]
                place = (node.line, node.column)
            elif isinstance(node, Mapping) and name in node.entries:
                # The value says more than the key, except for an object under its key.
                place = node.keys[name]
                node = node.entries[name]
                if isinstance(node, Scalar):
                    place = (node.line, node.column)
            else:
                break
        return place


@frozen(kw_only=True)
class ReadResult:
    """What a text holds: a document unless there are errors, and every diagnostic."""

    document: Workflow | PackManifest | None
    diagnostics: list[Diagnostic]
    places: TreePlaces
    legacy: bool = False


def read_document(raw: bytes, file: str) -> ReadResult:
    """Read a workflow or a pack manifest."""
    tree = parse_tree(raw, file)
    places = TreePlaces(tree.root)
    found = list(tree.problems)
    root = tree.root
    if root is None:
        return ReadResult(document=None, diagnostics=found, places=places)
    if not isinstance(root, Mapping):
        found.append(_problem(file, "schema_violation", "a document is an object", root))
        return ReadResult(document=None, diagnostics=found, places=places)
    legacy = is_legacy(root)
    if legacy:
        root, warnings = migrated_tree(root, file)
        found += warnings
        places = TreePlaces(root)
    cls = _class_of(root, file, found)
    if cls is None:
        return ReadResult(document=None, diagnostics=found, places=places, legacy=legacy)
    document, problems = structure(root, cls, file)
    found += problems
    if document is not None:
        found += [_located(one, places) for one in check_rules(document, file)]
    if has_errors(found):
        document = None
    return ReadResult(document=document, diagnostics=found, places=places, legacy=legacy)


def read_values(raw: bytes, file: str) -> tuple[JsonObject | None, list[Diagnostic]]:
    """Read a YAML or JSON object, such as a variable file."""
    tree = parse_tree(raw, file)
    if tree.root is None or tree.problems:
        return None, tree.problems
    if not isinstance(tree.root, Mapping):
        message = "the file must hold an object"
        return None, [_problem(file, "schema_violation", message, tree.root)]
    found: list[Diagnostic] = []
    value = json_value(Placed(tree.root, "", file, found))
    return (None if found else cast("JsonObject", value)), found


def read_data(raw: bytes, file: str) -> JsonObject:
    """Read a YAML or JSON object. Raises DocumentError with every problem."""
    value, problems = read_values(raw, file)
    if value is None:
        raise DocumentError(problems)
    return value


def _class_of(
    root: Mapping, file: str, found: list[Diagnostic]
) -> type[Workflow] | type[PackManifest] | None:
    node = root.entries.get("apiVersion")
    if not isinstance(node, Scalar):
        message = "apiVersion is missing"
        help = f"start with apiVersion: {WORKFLOW_VERSIONS[0]}"
        found.append(_problem(file, "unsupported_version", message, node or root, help))
        return None
    if node.text in WORKFLOW_VERSIONS:
        return Workflow
    if node.text in PACK_VERSIONS:
        return PackManifest
    help = did_you_mean(node.text, (*WORKFLOW_VERSIONS, *PACK_VERSIONS))
    message = f"apiVersion {node.text!r} is not known"
    found.append(_problem(file, "unsupported_version", message, node, help))
    return None


def _located(problem: Diagnostic, places: TreePlaces) -> Diagnostic:
    line, column = places.locate(problem.path)
    return evolve(problem, line=line, column=column)


def _problem(
    file: str, code: DiagnosticCode, message: str, node: Node, help: str | None = None
) -> Diagnostic:
    path = "apiVersion" if code == "unsupported_version" else ""
    return Diagnostic(
        code=code,
        message=message,
        file=file,
        path=path,
        line=node.line,
        column=node.column,
        help=help,
    )
