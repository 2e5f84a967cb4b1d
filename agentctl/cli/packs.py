"""Pack manifests given to `check` and `plan`, and the lock file that `run --locked` insists on.

Above: the commands. Below: the document reader.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, cast

from agentctl.errors import UsageError
from agentctl.limits import DOCUMENT_BYTES_MAX

if TYPE_CHECKING:
    from agentctl.engine.plan import Plan
    from agentctl.jsonvalue import JsonObject

LOCK_FILE: Final = "agentctl.pack.lock"
_MANIFEST: Final = re.compile(rb"^[\s{]*[\"']?apiVersion[\"']?\s*:\s*[\"']?agentctl\.dev/pack/")


def manifest(file: str) -> JsonObject | None:
    """Return what a pack manifest says of itself, or None when the file is none.

    Raises DocumentError with every problem of a manifest.
    """
    try:
        with open(file, "rb") as opened:
            data = opened.read(DOCUMENT_BYTES_MAX + 1)
    except (OSError, ValueError):
        return None
    if not _MANIFEST.match(data) or len(data) > DOCUMENT_BYTES_MAX:
        return None
    return _described(file, data)
