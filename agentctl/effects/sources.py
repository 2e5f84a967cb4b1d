"""Read the files that documents name, without ever leaving the workspace.

Above: the CLI and the embedded engine, which hand a `SourceFiles` to the compiler as its
`SourceReader`. Below: the operating system. Never: following a symbolic link below the
workspace root, reading anything but regular files, reading without a bound.
"""

from __future__ import annotations

import os

from attr import define

from agentctl.effects.paths import Missing, PathProblem, read_below, split
from agentctl.errors import SourceError, SourceMissing
from agentctl.limits import VARS_FILE_BYTES_MAX, VARS_FILES_MAX, VARS_FILES_TOTAL_BYTES_MAX


@define(eq=False, repr=False)
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
        try:
            parts = [*self._base_parts(base), *split(path)]
            raw = read_below(self._root, parts, VARS_FILE_BYTES_MAX)
        except Missing as problem:
            raise SourceMissing(f"{path!r} {problem.reason}", help=problem.help) from None
        except PathProblem as problem:
            raise SourceError(f"{path!r} {problem.reason}", help=problem.help) from None
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


class FilesBelow:
    """The files below whatever folder they are named from; a SourceReader for later."""

    def read(self, path: str, base: str) -> bytes:
        """Return a file's bytes; `base` is an absolute directory. Raises SourceError."""
        return SourceFiles(base).read(path, base)


def split_argument(path: str, current_directory: str) -> tuple[str, str]:
    """Return (path, base) for `read` of a path given on the command line.

    A relative one stays relative to the current directory; of an absolute one the directory
    becomes the base.
    """
    if os.path.isabs(path):
        base, name = os.path.split(path)
        return name, base
    return path, current_directory
