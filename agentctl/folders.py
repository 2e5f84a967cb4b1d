"""Folders that are still there after a power failure.

Above: the store and the file executors. Below: the operating system. A new file or folder is
certain only when the folder that names it has been synchronised.
"""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def make_folder(folder: str | Path, mode: int = 0o700) -> None:
    """Make a folder, and those above it that are missing, durably. Raises OSError.

    What exists is left as it is; folders above are made as the umask says.
    """
    parent = os.path.dirname(folder) or "."
    try:
        os.mkdir(folder, mode)
    except FileExistsError:
        return
    except FileNotFoundError:
        make_folder(parent, 0o777)
        with contextlib.suppress(FileExistsError):
            os.mkdir(folder, mode)
    # A folder that may be written but not read cannot be synchronised by anybody.
    with contextlib.suppress(PermissionError):
        sync_folder(parent)


def sync_folder(folder: str | Path) -> None:
    """Bring a folder's entries, or a file's bytes, to the disk. Raises OSError."""
    handle = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
