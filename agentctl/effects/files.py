"""Reading and writing workspace files: `builtin.read`, `builtin.write` and the two tools.

Above: the runner. Below: `paths`. A write is atomic and durable: a temporary file beside the
target, fsync, rename, fsync of the folder. Nothing outside the workspace (reads) or the
writable roots (writes) is ever touched.
Source: specification, section 6.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from typing import TYPE_CHECKING, cast

from agentctl.effects.paths import (
    READ,
    Missing,
    PathProblem,
    TooLarge,
    open_folder,
    read_below,
    refuse_link,
    split,
)
from agentctl.errors import EffectError
from agentctl.folders import make_folder
from agentctl.limits import FILE_BYTES_MAX, TOOL_FILE_BYTES_MAX

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentctl.engine.ports import EffectContext
    from agentctl.engine.records import EffectRecord
    from agentctl.jsonvalue import JsonObject, JsonValue

DIFF_BYTES_MAX = 64 << 10
TEXT = "text/plain; charset=utf-8"


class ReadFile:
    """`builtin.read`: one UTF-8 file of the workspace."""

    limit_bytes = FILE_BYTES_MAX

    async def execute(self, effect: EffectRecord, context: EffectContext) -> JsonValue:
        """Return the record `{output: {path, content, bytes, sha256}, …}`."""
        found = read_text(context.workspace, _text(effect, "path"), self.limit_bytes)
        return _record(found)


class ReadFileTool:
    """`builtin.workspace.read`: what a model may read."""

    async def execute(self, effect: EffectRecord, context: EffectContext) -> JsonValue:
        """Return `{path, content, bytes, sha256}`."""
        return read_text(context.workspace, _text(effect, "path"), TOOL_FILE_BYTES_MAX)


class WriteFile:
    """`builtin.write`: replace one file below a writable root."""

    async def execute(self, effect: EffectRecord, context: EffectContext) -> JsonValue:
        """Return the record with `before`, `after` and `diff`."""
        return write_text(context, _text(effect, "path"), _text(effect, "content"))


class WriteFileTool:
    """`builtin.workspace.write`: what a model may write."""

    async def execute(self, effect: EffectRecord, context: EffectContext) -> JsonValue:
        """Return `{path, bytes, sha256}`."""
        written = write_text(context, _text(effect, "path"), _text(effect, "content"))
        return written["output"]


class Echo:
    """`builtin.echo`: give the arguments back."""

    async def execute(self, effect: EffectRecord, context: EffectContext) -> JsonValue:
        """Return the input."""
        del context
        return effect.input


def read_text(root: str, path: str, limit_bytes: int) -> JsonObject:
    """Read a regular UTF-8 file below `root`. Raises EffectError, always definite."""
    with _explained(path):
        inside = path[len(root) :].lstrip("/") if _starts(path, root) else path
        data = read_below(root, split(inside), limit_bytes)
    return {"path": path, "content": _decode(data, path), **_facts(data)}


def write_text(context: EffectContext, path: str, content: str) -> JsonObject:
    """Replace a file below a writable root, atomically and durably."""
    try:
        data = content.encode("utf-8")
    except UnicodeEncodeError:
        raise EffectError(f"content of {path} is not valid text", code="not_utf8") from None
    if len(data) > FILE_BYTES_MAX:
        raise EffectError(f"content of {path} is too large", code="file_too_large")
    root, parts = writable_place(context, path)
    before = _read(root, parts, path, FILE_BYTES_MAX)
    # What was written stays known also when the file is changed or deleted later.
    context.artifacts.keep(data, _logical(context.workspace, root, parts), TEXT)
    if before != data:
        _replace(root, parts, path, data)
    else:
        _settle(root, parts, path)
    return _record(
        {"path": path, **_facts(data)},
        changed=before != data,
        before=None if before is None else _facts(before),
        after=_facts(data),
        diff=_diff(path, before, data),
    )


def preview_write(
    context: EffectContext, path: str, content: str, earlier: str | None
) -> JsonObject:
    """Return what `write_text` would, without touching anything.

    `earlier` is the text of a write to the same path that was previewed before.
    """
    root, parts = writable_place(context, path)
    before = _read(root, parts, path, FILE_BYTES_MAX)
    if earlier is not None:
        before = earlier.encode("utf-8", "surrogatepass")
    data = content.encode("utf-8", "surrogatepass")
    return _record(
        {"path": path, **_facts(data)},
        changed=before != data,
        before=None if before is None else _facts(before),
        after=_facts(data),
        diff=_diff(path, before, data),
        predictability="fully_predictable",
    )


def text_record(path: str, content: str) -> JsonObject:
    """Return the record of having read a text."""
    data = content.encode("utf-8", "surrogatepass")
    return _record({"path": path, "content": content, **_facts(data)})


def writable_place(context: EffectContext, path: str) -> tuple[str, tuple[str, ...]]:
    """Return the folder and the components of a path that the policy lets be written."""
    policy = cast("JsonObject", context.definitions["policy"])
    roots = cast("list[str]", policy["writableRoots"])
    with _explained(path):
        for root in roots:
            place = _below(context.workspace, root, path)
            if place is not None:
                return place
        if not path.startswith("/"):
            split(path)
    listed = ", ".join(roots) or "none"
    raise EffectError(
        f"{path} is not below a writable root (policy.writableRoots: {listed})",
        code="policy_denied",
    )


def _below(workspace: str, root: str, path: str) -> tuple[str, tuple[str, ...]] | None:
    """Return where `path` lies below one writable root, or None when it does not."""
    if root.startswith("/"):
        return (root, split(path[len(root) :].lstrip("/"))) if _starts(path, root) else None
    if path.startswith("/"):
        if not _starts(path, workspace):
            return None
        path = path[len(workspace) :].lstrip("/")
    prefix = () if root in (".", "./") else split(root.rstrip("/"))
    parts = split(path)
    inside = parts[: len(prefix)] == prefix and len(parts) > len(prefix)
    return (workspace, parts) if inside else None


def _logical(workspace: str, root: str, parts: tuple[str, ...]) -> str:
    """Return a path as the workspace sees it; one outside of it stays absolute."""
    inside = "/".join(parts)
    if root == workspace:
        return inside
    whole = f"{root.rstrip('/')}/{inside}"
    return whole[len(workspace) :].lstrip("/") if _starts(whole, workspace) else whole


def _starts(path: str, folder: str) -> bool:
    return path.startswith(folder.rstrip("/") + "/")


def _read(root: str, parts: tuple[str, ...], path: str, limit_bytes: int) -> bytes | None:
    """Return a regular file's bytes, or None when it does not exist."""
    with _explained(path):
        try:
            return read_below(root, parts, limit_bytes)
        except (Missing, FileNotFoundError):
            return None


def _replace(root: str, parts: tuple[str, ...], path: str, data: bytes) -> None:
    with _explained(path):
        make_folder(root, 0o777)
        folder = open_folder(root, parts[:-1], create=True)
        try:
            _write_beside(folder, parts[-1], data)
        finally:
            os.close(folder)


def _settle(root: str, parts: tuple[str, ...], path: str) -> None:
    """Bring a file to the disk that holds the right bytes already.

    Whoever left it there may have died, or not have waited, before it was certain.
    """
    with _explained(path):
        folder = open_folder(root, parts[:-1])
        try:
            file = os.open(parts[-1], READ, dir_fd=folder)
            try:
                os.fsync(file)
            finally:
                os.close(file)
            os.fsync(folder)
        finally:
            os.close(folder)


def _write_beside(folder: int, name: str, data: bytes) -> None:
    refuse_link(name, folder)
    temporary = f".{name}.agentctl-{os.getpid()}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        handle = os.open(temporary, flags, 0o644, dir_fd=folder)
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
        os.fsync(folder)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(temporary, dir_fd=folder)
        raise


@contextlib.contextmanager
def _explained(path: str) -> Iterator[None]:
    """Turn every problem of a path into the executor's own, always definite, error."""
    try:
        yield
    except TooLarge as problem:
        raise EffectError(f"{path} {problem.reason}", code="file_too_large") from None
    except Missing as problem:
        near = f"; {problem.help}" if problem.help else ""
        message = f"{path} {problem.reason}{near}"
        raise EffectError(message, code="file_missing", retryable=True) from None
    except PathProblem as problem:
        raise EffectError(f"{path!r} {problem.reason}", code="path_refused") from None
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise EffectError(f"{path}: {reason}", code="file_error", retryable=True) from error


def _facts(data: bytes) -> JsonObject:
    return {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}


def _decode(data: bytes, path: str) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        message = f"{path} is not UTF-8 (byte {error.start})"
        raise EffectError(message, code="not_utf8") from None


def _diff(path: str, before: bytes | None, after: bytes) -> str | None:
    """Return a unified diff, or None when nothing changes or it would be unreadable."""
    if before == after or len(before or b"") + len(after) > DIFF_BYTES_MAX:
        return None
    from difflib import unified_diff

    try:
        old = (before or b"").decode("utf-8").splitlines(keepends=True)
    except UnicodeDecodeError:
        return None
    new = after.decode("utf-8").splitlines(keepends=True)
    name = "/dev/null" if before is None else f"a/{path}"
    return "".join(unified_diff(old, new, name, f"b/{path}"))


def _record(output: JsonObject, **parts: JsonValue) -> JsonObject:
    changed = bool(parts.get("changed"))
    return {
        "status": "changed" if changed else "unchanged",
        "changed": changed,
        "before": parts.get("before"),
        "after": parts.get("after"),
        "diff": parts.get("diff"),
        "output": output,
        "predictability": parts.get("predictability", "requires_execution"),
    }


def _text(effect: EffectRecord, name: str) -> str:
    value = effect.input.get(name) if isinstance(effect.input, dict) else None
    if not isinstance(value, str):
        raise EffectError(f"{effect.operation} needs a text `{name}`", code="invalid_input")
    return value
