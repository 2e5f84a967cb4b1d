"""The named statements of `queries.sql`.

Above: the rest of the store. Each statement stands under a line `-- name --`, followed by a
comment that says why it exists.
"""

from __future__ import annotations

import os
import re

_HEADER = re.compile(r"^-- ([a-z_]+) --$", re.MULTILINE)


def parse_statements(text: str) -> dict[str, str]:
    """Return the statements of a file by name.

    Raises ValueError for a name that stands twice or has no statement.
    """
    parts = _HEADER.split(text)
    found: dict[str, str] = {}
    for name, body in zip(parts[1::2], parts[2::2], strict=True):
        lines = [line for line in body.splitlines() if not line.startswith("--")]
        statement = "\n".join(lines).strip()
        if name in found or not statement:
            raise ValueError(f"statement {name!r} is empty or stands twice")
        found[name] = statement
    return found


def read_text(name: str) -> str:
    """Return one of the package's SQL files."""
    # importlib.resources would cost more than all of this module.
    with open(os.path.join(os.path.dirname(__file__), name), encoding="utf-8") as file:
        return file.read()


SQL = parse_statements(read_text("queries.sql"))
