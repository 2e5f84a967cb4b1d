"""What is said of an exported run.

Above: `export`, `import` and `inspect --file`. Below: the store's portable runs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentctl.cli.paint import visible

if TYPE_CHECKING:
    from agentctl.jsonvalue import JsonObject
    from agentctl.store.portable_file import Portable


def portable_json(portable: Portable, path: str) -> JsonObject:
    """Return the public JSON."""
    return {
        "runId": portable.run_id,
        "path": path,
        "sha256": portable.sha256,
        "sizeBytes": portable.size_bytes,
        "rows": portable.rows,
        "artifacts": portable.artifacts,
        "withArtifacts": portable.with_artifacts,
    }


def human(portable: Portable, did: str) -> str:
    """Return a line for people, with the digest that proves the file."""
    kept = "" if portable.with_artifacts else " (not asked for)"
    return (
        visible(
            f"run {portable.run_id} {did}: {portable.rows} rows, {portable.artifacts} artifacts{kept}, "
            f"{portable.size_bytes} bytes"
        )
        + f"\nsha256 {portable.sha256}"
    )
