"""Opening files of a workspace without ever following a link out of it.

Above: the file executors. Below: directory descriptors of the operating system. Every component
is opened with O_NOFOLLOW, so neither a symlink nor a race can lead outside; an absolute path is
legal only where the policy lists its root.
"""

from __future__ import annotations

import errno
import os
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from agentctl.errors import EffectError

if TYPE_CHECKING:
    from collections.abc import Iterable

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Refused(EffectError):
    """A path leads outside, through a link, or is no path at all."""

    def __init__(self, message: str) -> None:
        super().__init__(message, code="path_refused")


def relative_parts(path: str, root: str) -> tuple[str, ...]:
    """Return a path's components below `root`.

    Raises Refused for an empty path, NUL, `..`, or an absolute path elsewhere.
    """
    if not path or "\0" in path:
        raise Refused(f"{path!r} is not a path")
    pure = PurePosixPath(path)
    if pure.is_absolute():
        try:
            pure = pure.relative_to(root)
        except ValueError:
            raise Refused(f"{path} is outside {root}") from None
    if ".." in pure.parts:
        raise Refused(f"{path} climbs with '..'; write the path without it")
    if not pure.parts:
        raise Refused(f"{path} names the folder itself")
    return pure.parts


def open_folder(root: str, parts: Iterable[str], *, create: bool = False) -> int:
    """Open a folder below `root` component by component; the caller closes it.

    Raises Refused for a link on the way, OSError for anything else.
    """
    folder = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    for part in parts:
        try:
            deeper = _step(folder, part, create=create)
        finally:
            os.close(folder)
        folder = deeper
    return folder


def _step(folder: int, part: str, *, create: bool) -> int:
    if create:
        try:
            os.mkdir(part, 0o755, dir_fd=folder)
            os.fsync(folder)
        except FileExistsError:
            pass
    try:
        return os.open(part, _DIRECTORY, dir_fd=folder)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOTDIR) and is_link(folder, part):
            raise Refused(f"{part} is a symbolic link; links are not followed") from None
        raise


def is_link(folder: int, name: str) -> bool:
    """Return whether an entry is a symbolic link."""
    import stat

    try:
        found = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except OSError:
        return False
    return stat.S_ISLNK(found.st_mode)
