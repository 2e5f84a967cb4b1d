"""Read workflows, pack manifests and variable files from text.

Above: the door and the CLI. Below: the tree, the model and reading it. All problems of a text come
back at once; nothing here raises for what a text says.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, cast

from attr import frozen

from agentctl.diagnostics import Diagnostic, has_errors
from agentctl.engine.document.model import Workflow
from agentctl.engine.document.structure import Placed, json_value, structure
from agentctl.engine.document.tree import is_legacy, parse_tree
from agentctl.errors import DocumentError
from agentctl.suggest import did_you_mean, nearest
from agentctl.text.nodes import Mapping, Scalar, Sequence
from agentctl.value import Value

if TYPE_CHECKING:
    from agentctl.diagnostics import DiagnosticCode
    from agentctl.engine.document.pack_model import PackLock, PackManifest
    from agentctl.jsonvalue import JsonObject
    from agentctl.text.nodes import Node, Place

WORKFLOW_VERSIONS = ("agentctl.dev/v1", "agentctl.dev/v1alpha1")
PACK_VERSIONS = ("agentctl.dev/pack/v1", "agentctl.dev/pack/v1alpha1")
LOCK_VERSIONS = ("agentctl.dev/pack-lock/v1",)
_INDEX = re.compile(r"\[([0-9]{1,9})\]")
_JOINT = re.compile(r"[.\[]|\Z")


@frozen(eq=False, repr=False)
class TreePlaces(Value):
    """Knows where the parts of one text stand."""

    root: Node | None

    def locate(self, path: str) -> tuple[int | None, int | None]:
        """Return line and column of a path, or of its nearest ancestor in the text."""
        node = self.root
        if node is None:
            return None, None
        place, rest = (node.line, node.column), path
        while rest:
            step = _step(node, rest)
            if step is None:
                break
            node, place, rest = step
        return place


def _step(node: Node, path: str) -> tuple[Node, Place, str] | None:
    """Return the part that a path starts with, its place, and the rest of the path."""
    if isinstance(node, Sequence):
        found = _INDEX.match(path)
        if found is None or int(found[1]) >= len(node.items):
            return None
        inner = node.items[int(found[1])]
        return inner, (inner.line, inner.column), path[found.end() :].removeprefix(".")
    if not isinstance(node, Mapping):
        return None
    ends = [joint.start() for joint in _JOINT.finditer(path)]
    # Keys may hold dots and brackets themselves, so the longest one that fits is meant.
    for end in reversed(ends):
        inner_or_none = node.entries.get(path[:end])
        if inner_or_none is not None:
            place = node.keys[path[:end]]
            if isinstance(inner_or_none, Scalar):
                # The value says more than its key, except for an object or a list.
                place = (inner_or_none.line, inner_or_none.column)
            return inner_or_none, place, path[end:].removeprefix(".")
    return None


@frozen(kw_only=True, eq=False, repr=False)
class ReadResult(Value):
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
        from agentctl.engine.document.migration import migrated_tree

        root, warnings = migrated_tree(root, file)
        found += warnings
        places = TreePlaces(root)
    cls = _class_of(root, file, found)
    if cls is None:
        return ReadResult(document=None, diagnostics=found, places=places, legacy=legacy)
    document, problems = structure(root, cls, file)
    found += problems
    if has_errors(found):
        document = None
    return ReadResult(document=document, diagnostics=found, places=places, legacy=legacy)


def read_pack_lock(raw: bytes, file: str) -> tuple[PackLock | None, list[Diagnostic]]:
    """Read the lock file of packs."""
    from agentctl.engine.document.pack_model import PackLock

    tree = parse_tree(raw, file)
    if tree.root is None or tree.problems:
        return None, tree.problems
    return structure(tree.root, PackLock, file)


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
) -> type[Workflow | PackManifest] | None:
    node = root.entries.get("apiVersion")
    if node is None:
        help: str | None = f"start with apiVersion: {WORKFLOW_VERSIONS[0]}"
        near = nearest("apiVersion", root.entries)
        if near is not None:
            help = f"{near!r} is written apiVersion"
        found.append(_problem(file, "unsupported_version", "apiVersion is missing", root, help))
        return None
    text = node.text if isinstance(node, Scalar) else ""
    if text in WORKFLOW_VERSIONS:
        return Workflow
    if text in PACK_VERSIONS:
        from agentctl.engine.document.pack_model import PackManifest

        return PackManifest
    help = did_you_mean(text, (*WORKFLOW_VERSIONS, *PACK_VERSIONS))
    if text in LOCK_VERSIONS:
        help = "a lock file is read with the workflow beside it"
    message = f"apiVersion {text!r} is not known" if text else "apiVersion is not a version"
    found.append(_problem(file, "unsupported_version", message, node, help))
    return None


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
