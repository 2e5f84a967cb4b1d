"""Pack manifests given to `check` and `plan`, and the lock file that `run --locked` insists on.

Above: the commands. Below: the compiler of packs. Packs are always resolved from files, so
`--offline` promises what holds anyway.
"""

from __future__ import annotations

import os.path
import re
from typing import TYPE_CHECKING, Final, cast

from agentctl.errors import DocumentError, UsageError
from agentctl.limits import DOCUMENT_BYTES_MAX

if TYPE_CHECKING:
    from agentctl.jsonvalue import JsonObject
    from agentctl.loading import Loaded

_MANIFEST: Final = re.compile(
    rb"^\s*\{?\s*[\"']?apiVersion[\"']?\s*:\s*[\"']?agentctl\.dev/pack/", re.MULTILINE
)


def manifest(file: str) -> JsonObject | None:
    """Return what a pack manifest exports and needs, or None when the file is none.

    Raises DocumentError with every problem of a manifest.
    """
    try:
        with open(file, "rb") as opened:
            data = opened.read(DOCUMENT_BYTES_MAX + 1)
    except (OSError, ValueError):
        return None
    if _MANIFEST.search(data) is None:
        return None
    return _compiled(file, data)


def _compiled(file: str, data: bytes) -> JsonObject:
    from agentctl.effects.sources import SourceFiles
    from agentctl.engine.compiler.pack import PackFile, compile_pack

    folder = os.path.dirname(file) or "."
    result = compile_pack(PackFile(raw=data, file=file, reader=SourceFiles(folder)))
    if result.plan is None:
        raise DocumentError(result.diagnostics)
    return {"valid": True, "pack": result.plan["name"], **result.plan}


def headline(file: str, data: JsonObject) -> str:
    """Return a valid manifest in a line for people."""
    actions, workflows = (cast("JsonObject", data[key]) for key in ("actions", "workflows"))
    counts = f"{len(actions)} actions, {len(workflows)} workflows"
    return f"{file}: valid: pack {data['name']} {data['version']}, {counts}"


def require_lock(file: str, loaded: Loaded) -> None:
    """Raise UsageError unless every pack of the workflow stands in the lock file beside it."""
    from agentctl.engine.packs import LOCK_FILE, read_lock

    wanted = _packs_of(loaded)
    if not wanted:
        return
    path = os.path.join(os.path.dirname(file), LOCK_FILE)
    try:
        with open(path, "rb") as opened:
            locked = read_lock(opened.read(DOCUMENT_BYTES_MAX))
    except OSError as error:
        raise UsageError(f"--locked: {path}: {error.strerror}") from None
    missing = sorted(wanted - set(locked))
    if missing:
        raise UsageError(f"--locked: {LOCK_FILE} does not list {', '.join(missing)}")


def _packs_of(loaded: Loaded) -> set[str]:
    """Return the names of the packs that a workflow declares."""
    from agentctl.engine.document.reader import read_document

    document = read_document(loaded.text.encode("utf-8"), loaded.file).document
    spec = getattr(document, "spec", None)
    return set() if spec is None else {one.name for one in spec.packs}
