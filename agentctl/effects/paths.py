"""Opening files below a trusted folder without ever following a link out of it.

Above: the file executors and the capture of source files. Below: directory descriptors of the
operating system. Every component is opened with O_NOFOLLOW, so neither a symbolic link nor a
race can lead outside. The folder itself is trusted, and so are links on the way to it.
"""

from __future__ import annotations

import errno
import os
import stat
from typing import TYPE_CHECKING, Final

from agentctl.suggest import nearest

if TYPE_CHECKING:
    from collections.abc import Sequence

_DIRECTORY: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Without O_NONBLOCK the opening of a pipe would wait for a writer.
READ: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_LISTED_NAMES_MAX: Final = 1000


class PathProblem(Exception):
    """A path that will not be opened; the text completes "PATH …"."""

    def __init__(self, reason: str, *, help: str | None = None) -> None:
        self.reason, self.help = reason, help
        super().__init__(reason)


class Missing(PathProblem):
    """A component does not exist."""


class TooLarge(PathProblem):
    """A file has more bytes than may be read."""


def split(path: str) -> tuple[str, ...]:
    """Return the components of a relative path to a file.

    Raises PathProblem for an empty or absolute path, NUL, `..`, and a path to a folder.
    """
    if not path:
        raise PathProblem("is empty")
    if "\0" in path:
        raise PathProblem("holds a NUL character")
    if path.startswith("/"):
        raise PathProblem("is an absolute path", help="write it relative to the workspace")
    parts = tuple(part for part in path.split("/") if part not in ("", "."))
    if ".." in parts:
        raise PathProblem("leads upwards; '..' is not allowed")
    if not parts or path.endswith("/"):
        raise PathProblem("names a directory, not a file")
    return parts


def read_below(root: str, parts: Sequence[str], limit_bytes: int) -> bytes:
    """Return the bytes of a regular file below `root`.

    Raises Missing, TooLarge, another PathProblem, or OSError.
    """
    folder = open_folder(root, parts[:-1])
    try:
        descriptor = _open(parts[-1], folder, READ)
    finally:
        os.close(folder)
    try:
        return _read_regular(descriptor, limit_bytes)
    finally:
        os.close(descriptor)


def look_below(root: str, parts: Sequence[str]) -> None:
    """Raise as `read_below` does unless a regular file is there that may be read; read nothing."""
    folder = open_folder(root, parts[:-1])
    try:
        descriptor = _open(parts[-1], folder, READ)
    finally:
        os.close(folder)
    try:
        _require_regular(descriptor)
    finally:
        os.close(descriptor)


def open_folder(root: str, parts: Sequence[str], *, create: bool = False) -> int:
    """Open a folder below `root`, component by component; the caller closes it.

    Raises Missing, another PathProblem, or OSError.
    """
    folder = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for part in parts:
            if create:
                _make(part, folder)
            deeper = _open(part, folder, _DIRECTORY)
            os.close(folder)
            folder = deeper
    except BaseException:
        os.close(folder)
        raise
    return folder


def refuse_link(name: str, folder: int) -> None:
    """Raise PathProblem when an entry is a symbolic link."""
    try:
        found = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return
    if stat.S_ISLNK(found.st_mode):
        raise _link(name)


def _make(part: str, folder: int) -> None:
    try:
        os.mkdir(part, 0o755, dir_fd=folder)
    except FileExistsError:
        return
    os.fsync(folder)


def _open(part: str, folder: int, flags: int) -> int:
    try:
        return os.open(part, flags, dir_fd=folder)
    except UnicodeEncodeError:
        raise PathProblem("is not a file name") from None
    except FileNotFoundError:
        near = _nearest_name(part, folder)
        raise Missing("does not exist", help=f"did you mean {near!r}?" if near else None) from None
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOTDIR):
            refuse_link(part, folder)
        raise


def _link(part: str) -> PathProblem:
    return PathProblem(
        f"leads over the symbolic link {part!r}",
        help="name the file itself; links are not followed",
    )


def _nearest_name(part: str, folder: int) -> str | None:
    with os.scandir(folder) as entries:
        names = [entry.name for entry, _ in zip(entries, range(_LISTED_NAMES_MAX), strict=False)]
    return nearest(part, names)


def _require_regular(descriptor: int) -> None:
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        raise PathProblem("is not a regular file")


def _read_regular(descriptor: int, limit_bytes: int) -> bytes:
    _require_regular(descriptor)
    chunks: list[bytes] = []
    # One byte more than allowed tells a file that is too large, or grows meanwhile.
    left = limit_bytes + 1
    while left > 0 and (chunk := os.read(descriptor, left)):
        chunks.append(chunk)
        left -= len(chunk)
    if left == 0:
        raise TooLarge(f"has more than {limit_bytes:,} bytes")
    return b"".join(chunks)
