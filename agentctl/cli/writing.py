"""Writing a file that a command was told to write: whole or not at all.

Above: `schema`, `migrate`. Below: the file system.
"""

from __future__ import annotations

import os
from pathlib import Path
from tempfile import NamedTemporaryFile

from agentctl.errors import UsageError


def write_file(path: str, text: str) -> int:
    """Replace a file by new text and return its size in bytes. Raises UsageError."""
    data = text.encode("utf-8", "backslashreplace")
    try:
        target = Path(path)
        with NamedTemporaryFile(dir=target.parent, prefix=".agentctl-", delete=False) as made:
            try:
                made.write(data)
                made.flush()
                os.fsync(made.fileno())
                os.chmod(made.name, 0o644)
                os.replace(made.name, target)
            except BaseException:
                os.unlink(made.name)
                raise
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UsageError(f"cannot write {path}: {reason}") from None
    return len(data)
