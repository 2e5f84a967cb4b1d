"""Which file systems keep the locking promises that a write-ahead log needs.

Above: `database`. Below: the kernel's mount table. On systems without one, nothing is refused.
Source: sqlite.org/wal.html ("all processes must be on the same host").
"""

from __future__ import annotations

import os
from pathlib import Path

from agentctl.errors import StoreUnsafe

MOUNTS = Path("/proc/self/mountinfo")
SHARED = ("nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "virtiofs", "ceph", "glusterfs", "afs")


def refuse_shared(path: Path, *, allow: bool, mounts: Path = MOUNTS) -> bool:
    """Return whether a write-ahead log may be used at `path`.

    Raises StoreUnsafe on a shared file system, unless `allow` accepts the slower rollback
    journal there.
    """
    kind = filesystem_of(path, mounts)
    if not is_shared(kind):
        return True
    if allow:
        return False
    raise StoreUnsafe(
        f"{path} is on a {kind} file system, which several machines may share; SQLite's "
        "write-ahead log loses data there",
        help="put the database on a local disk, or accept a slower journal with "
        "--shared-filesystem (Engine(shared_filesystem=True))",
    )


def is_shared(kind: str) -> bool:
    """Return whether a file system type is a network or shared-folder one."""
    return kind in SHARED or kind == "fuse" or kind.startswith("fuse.")


def filesystem_of(path: Path, mounts: Path = MOUNTS) -> str:
    """Return the type of the file system that holds a path, "" when unknown."""
    try:
        lines = mounts.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
        wanted = os.path.realpath(path)
    except (OSError, ValueError):
        return ""
    best, found = "", ""
    for line in lines:
        point, kind = _mount(line)
        inside = wanted == point or wanted.startswith(point.rstrip("/") + "/")
        # A later mount hides an earlier one at the same place.
        if inside and len(point) >= len(best):
            best, found = point, kind
    return found


def _mount(line: str) -> tuple[str, str]:
    """Read one line of proc(5) mountinfo: the mount point, and the type after the dash."""
    fields = line.split(" ")
    dash = fields.index("-") if "-" in fields else len(fields)
    kind = fields[dash + 1] if dash + 1 < len(fields) else ""
    point = fields[4] if len(fields) > 4 else ""
    for escaped, plain in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
        point = point.replace(escaped, plain)
    return point, kind
