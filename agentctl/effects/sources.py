"""Read the files that documents name, without ever leaving the workspace.

Above: the CLI and the embedded engine, which hand a `SourceFiles` to the compiler as its
`SourceReader`. Below: the operating system. Never: following a symbolic link below the
workspace root, reading anything but regular files, reading without a bound.

Every directory on the way is opened by descriptor from its parent, so that no rename or link
made meanwhile can lead outside.
"""

from __future__ import annotations

import errno
import os
import stat
from typing import TYPE_CHECKING, Final

from attr import define

from agentctl.errors import SourceError
from agentctl.limits import VARS_FILE_BYTES_MAX, VARS_FILES_MAX, VARS_FILES_TOTAL_BYTES_MAX
from agentctl.suggest import nearest

if TYPE_CHECKING:
    from collections.abc import Sequence

_DIRECTORY: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Without O_NONBLOCK the opening of a pipe would wait for a writer.
_FILE: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_LISTED_NAMES_MAX: Final = 1000


@define
class SourceBudget:
    """What one compilation may still read; several readers can share it."""

    references: int = 0
    size_bytes: int = 0

    def take_reference(self) -> None:
        """Count one reference; raises SourceError beyond the limit."""
        self.references += 1
        if self.references > VARS_FILES_MAX:
            raise SourceError(f"more than {VARS_FILES_MAX} files are referenced")

    def take_bytes(self, size_bytes: int) -> None:
        """Count bytes; raises SourceError beyond the limit."""
        self.size_bytes += size_bytes
        if self.size_bytes > VARS_FILES_TOTAL_BYTES_MAX:
            raise SourceError(
                f"the referenced files have more than {VARS_FILES_TOTAL_BYTES_MAX} bytes in all"
            )


class SourceFiles:
    """The files below one workspace root.

    The root itself is trusted, and so are links on the way to it.
    """

    def __init__(self, root: str | os.PathLike[str], budget: SourceBudget | None = None) -> None:
        self._root = os.path.realpath(root)
        self._budget = SourceBudget() if budget is None else budget

    def read(self, path: str, base: str = "") -> bytes:
        """Return a file's bytes; `base` is a directory, absolute or relative to the root.

        Raises SourceError, and nothing else, for everything that is not a readable regular
        file of at most 1 MiB inside the root, and beyond the budget.
        """
        self._budget.take_reference()
        parts = [*self._base_parts(base), *_path_parts(path)]
        try:
            raw = _read_below(self._root, parts, path)
        except OSError as error:
            raise SourceError(f"{path!r} cannot be read: {error.strerror}") from error
        self._budget.take_bytes(len(raw))
        return raw

    def _base_parts(self, base: str) -> list[str]:
        try:
            full = os.path.realpath(os.path.join(self._root, base))
        except ValueError:
            raise SourceError(f"{base!r} is not the name of a directory") from None
        parts = os.path.relpath(full, self._root).split(os.sep)
        if parts[0] == os.pardir:
            raise SourceError(
                f"the directory {base!r} is outside the workspace",
                help="choose another workspace, or move the file into it",
            )
        return [part for part in parts if part != os.curdir]


def split_argument(path: str, current_directory: str) -> tuple[str, str]:
    """Return (path, base) for `read` of a path given on the command line.

    A relative one stays relative to the current directory; of an absolute one the directory
    becomes the base.
    """
    if os.path.isabs(path):
        base, name = os.path.split(path)
        return name, base
    return path, current_directory


def _path_parts(path: str) -> list[str]:
    if not path or "\0" in path:
        raise SourceError("the path of a file is empty or holds a NUL character")
    if path.startswith("/"):
        raise SourceError(
            f"{path!r} is an absolute path", help="write it relative to the workflow file"
        )
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if ".." in parts:
        raise SourceError(f"{path!r} leads upwards; '..' is not allowed")
    if not parts or path.endswith("/"):
        raise SourceError(f"{path!r} names a directory, not a file")
    return parts


def _read_below(root: str, parts: Sequence[str], shown: str) -> bytes:
    directory = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for part in parts[:-1]:
            inner = _open(part, directory, _DIRECTORY, shown)
            os.close(directory)
            directory = inner
        descriptor = _open(parts[-1], directory, _FILE, shown)
    finally:
        os.close(directory)
    try:
        return _read_regular(descriptor, shown)
    finally:
        os.close(descriptor)


def _open(part: str, directory: int, flags: int, shown: str) -> int:
    try:
        return os.open(part, flags, dir_fd=directory)
    except UnicodeEncodeError:
        raise SourceError(f"{shown!r} is not a file name") from None
    except FileNotFoundError:
        near = _nearest_name(part, directory)
        help = f"did you mean {near!r}?" if near else None
        raise SourceError(f"{shown!r} does not exist", help=help) from None
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOTDIR) and _is_link(part, directory):
            raise SourceError(
                f"{shown!r} leads over the symbolic link {part!r}",
                help="name the file itself; links are not followed",
            ) from None
        raise


def _is_link(part: str, directory: int) -> bool:
    found = os.stat(part, dir_fd=directory, follow_symlinks=False)
    return stat.S_ISLNK(found.st_mode)


def _nearest_name(part: str, directory: int) -> str | None:
    with os.scandir(directory) as entries:
        names = [entry.name for entry, _ in zip(entries, range(_LISTED_NAMES_MAX), strict=False)]
    return nearest(part, names)


def _read_regular(descriptor: int, shown: str) -> bytes:
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        raise SourceError(f"{shown!r} is not a regular file")
    chunks: list[bytes] = []
    left = VARS_FILE_BYTES_MAX + 1
    while left > 0 and (chunk := os.read(descriptor, left)):
        chunks.append(chunk)
        left -= len(chunk)
    if left == 0:
        raise SourceError(f"{shown!r} has more than {VARS_FILE_BYTES_MAX} bytes")
    return b"".join(chunks)
