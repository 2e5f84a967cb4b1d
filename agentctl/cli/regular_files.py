"""Reading a file that a command line names: a regular file, and never more than a limit.

Above: evidence and agent files. Below: the file system.
"""

from __future__ import annotations

import os
import stat

from agentctl.errors import SourceError


def read_regular(file: str, limit_name: str, limit_bytes: int, *, help: str) -> bytes:
    """Return the bytes of a regular file. Raises SourceError, with `help` if it is too large."""
    try:
        # Opening a pipe that nobody writes to must not block for ever.
        descriptor = os.open(file, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        with os.fdopen(descriptor, "rb") as opened:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise SourceError(f"{file} is not a regular file")
            data = opened.read(limit_bytes + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise SourceError(f"{file}: {reason}") from None
    if len(data) > limit_bytes:
        raise SourceError(f"{file} has more than {limit_name} = {limit_bytes:,} bytes", help=help)
    return data
