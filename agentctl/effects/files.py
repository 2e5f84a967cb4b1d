"""Reading and writing workspace files: `builtin.read`, `builtin.write` and the two tools.

Above: the runner. Below: `paths`. A write is atomic and durable: a temporary file beside the
target, fsync, rename, fsync of the folder. Nothing outside the workspace (reads) or the
writable roots (writes) is ever touched.
Source: specification, section 6.
"""

from __future__ import annotations

import hashlib
import os
import stat
from typing import TYPE_CHECKING, cast

from agentctl.effects.paths import Refused, is_link, open_folder, relative_parts
from agentctl.errors import EffectError
from agentctl.limits import FILE_BYTES_MAX, TOOL_FILE_BYTES_MAX

if TYPE_CHECKING:
    from agentctl.engine.ports import EffectContext
    from agentctl.engine.records import EffectRecord
    from agentctl.jsonvalue import JsonObject, JsonValue

DIFF_BYTES_MAX = 64 << 10


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

    async def execute(self, effect: EffectRecord, context: EffectContext) -> JsonValue:  # noqa: ARG002 - the port's shape
        """Return the input."""
        return effect.input


def read_text(root: str, path: str, limit_bytes: int) -> JsonObject:
    """Read a regular UTF-8 file below `root`. Raises EffectError, always definite."""
    parts = relative_parts(path, root)
    data = _read_bytes(root, parts, path, limit_bytes)
    if data is None:
        raise EffectError(f"{path} does not exist", code="file_missing", retryable=True)
    return {"path": path, "content": _decode(data, path), **_facts(data)}


def write_text(context: EffectContext, path: str, content: str) -> JsonObject:
    """Replace a file below a writable root, atomically and durably."""
    try:
        data = content.encode("utf-8")
    except UnicodeEncodeError:
        raise EffectError(f"content of {path} is not valid text", code="not_utf8") from None
    if len(data) > FILE_BYTES_MAX:
        raise _too_large(path, len(data), FILE_BYTES_MAX)
    root, parts = writable_place(context, path)
    before = _read_bytes(root, parts, path, FILE_BYTES_MAX)
    if before != data:
        _replace(root, parts, path, data)
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
    before = _read_bytes(root, parts, path, FILE_BYTES_MAX)
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
    """Return the root and the components of a path that the policy lets be written."""
    policy = cast("JsonObject", context.definitions["policy"])
    roots = cast("list[str]", policy["writableRoots"])
    for root in roots:
        base, prefix = _root(context.workspace, root)
        try:
            parts = relative_parts(path, base)
        except Refused:
            if path.startswith("/"):
                continue
            raise
        if parts[: len(prefix)] == prefix and len(parts) > len(prefix):
            return base, parts
    listed = ", ".join(roots) or "none"
    raise EffectError(
        f"{path} is not below a writable root (policy.writableRoots: {listed})",
        code="policy_denied",
    )


def _root(workspace: str, root: str) -> tuple[str, tuple[str, ...]]:
    """Return the folder to open and the components that a path below it must start with."""
    if root.startswith("/"):
        return root, ()
    if root in (".", "./"):
        return workspace, ()
    return workspace, relative_parts(root, workspace)


def _read_bytes(root: str, parts: tuple[str, ...], path: str, limit_bytes: int) -> bytes | None:
    """Return a regular file's bytes, or None when it does not exist."""
    try:
        folder = open_folder(root, parts[:-1])
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _os_error(path, error) from error
    try:
        handle = os.open(
            parts[-1],
            os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC,
            dir_fd=folder,
        )
    except FileNotFoundError:
        return None
    except OSError as error:
        if is_link(folder, parts[-1]):
            raise Refused(f"{path} is a symbolic link; links are not followed") from error
        raise _os_error(path, error) from error
    finally:
        os.close(folder)
    with os.fdopen(handle, "rb") as file:
        return _bounded(file.fileno(), path, limit_bytes)


def _bounded(handle: int, path: str, limit_bytes: int) -> bytes:
    found = os.fstat(handle)
    if not stat.S_ISREG(found.st_mode):
        raise Refused(f"{path} is not a regular file")
    if found.st_size > limit_bytes:
        raise _too_large(path, found.st_size, limit_bytes)
    data = b""
    # One byte more than allowed tells a file that grew meanwhile.
    while len(data) <= limit_bytes:
        more = os.read(handle, limit_bytes + 1 - len(data))
        if not more:
            return data
        data += more
    raise _too_large(path, len(data), limit_bytes)


def _replace(root: str, parts: tuple[str, ...], path: str, data: bytes) -> None:
    try:
        os.makedirs(root, exist_ok=True)
        folder = open_folder(root, parts[:-1], create=True)
    except OSError as error:
        raise _os_error(path, error) from error
    try:
        _write_beside(folder, parts[-1], path, data)
    finally:
        os.close(folder)


def _write_beside(folder: int, name: str, path: str, data: bytes) -> None:
    if is_link(folder, name):
        raise Refused(f"{path} is a symbolic link; links are not followed")
    temporary = f".{name}.agentctl-{os.getpid()}"
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
        handle = os.open(temporary, flags, 0o644, dir_fd=folder)
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
        os.fsync(folder)
    except OSError as error:
        _discard(folder, temporary)
        raise _os_error(path, error) from error


def _discard(folder: int, temporary: str) -> None:
    try:
        os.unlink(temporary, dir_fd=folder)
    except OSError:
        return


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


def _too_large(path: str, size_bytes: int, limit_bytes: int) -> EffectError:
    return EffectError(
        f"{path} has {size_bytes:,} bytes; the limit is {limit_bytes:,}", code="file_too_large"
    )


def _os_error(path: str, error: OSError) -> EffectError:
    reason = (error.strerror or str(error)).lower()
    return EffectError(f"{path}: {reason}", code="file_error", retryable=True)
