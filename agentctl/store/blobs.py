"""The folder of artifacts: files named by the SHA-256 of their bytes.

Above: the journal, which ingests for its run, and the commands that look after artifacts. Below:
the file system. A file appears under its digest only when its bytes are on the disk: it is
written and synchronised in `incoming/`, renamed, and the folder is synchronised as well.

Between its ingestion and the commit that refers to it, a blob is protected by a shared lock on
the file `lock`; whoever removes blobs takes that lock for itself alone. The kernel gives a lock
back when its process dies, so that nothing is protected for ever, and whatever then still lies
in `incoming/` was left by a process that died.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import os
import re
import threading
import time
from typing import TYPE_CHECKING

from agentctl.errors import StoreBusy, StoreError, StoreFull, StoreReadOnly
from agentctl.folders import make_folder, sync_folder

if TYPE_CHECKING:
    from collections.abc import Iterator
    from io import BufferedReader
    from pathlib import Path

INCOMING = "incoming"
LOCK = "lock"
_PAUSE_SECONDS = 0.005
_CHUNK_BYTES = 1 << 20
_FOLDER = re.compile(r"[0-9a-f]{2}")
_REST = re.compile(r"[0-9a-f]{62}")


class Blobs:
    """One folder of blobs; several threads may use it, and wait so long for other processes."""

    def __init__(self, root: Path, *, wait_ms: int = 5000) -> None:
        self.root = root
        self._wait_seconds = wait_ms / 1000
        self._mutex = threading.RLock()
        self._lock_file: int | None = None
        self._holds = 0

    def hold(self) -> None:
        """Keep everybody from removing blobs until `let_go`. Raises StoreError."""
        with self._mutex:
            if not self._holds:
                self._take_shared()
            self._holds += 1

    def let_go(self, count: int = 1) -> None:
        """Undo some holds; the last one lets blobs be removed again."""
        with self._mutex:
            self._holds = max(self._holds - count, 0)
            if not self._holds and self._lock_file is not None:
                fcntl.flock(self._lock_file, fcntl.LOCK_UN)

    def put(self, data: bytes) -> str:
        """Make bytes durable and return their digest; call it under a hold.

        Raises StoreFull, StoreReadOnly or another StoreError.
        """
        digest = hashlib.sha256(data).hexdigest()
        place = self.path_of(digest)
        with self._explained():
            # Its own bytes may have been damaged since; then the good ones take their place.
            if _holds_exactly(place, data):
                sync_folder(place.parent)
                return digest
            part = self._write_part(data)
            try:
                make_folder(place.parent)
                os.replace(part, place)
            except BaseException:
                with contextlib.suppress(OSError):
                    os.unlink(part)
                raise
            sync_folder(place.parent)
        return digest

    def path_of(self, digest: str) -> Path:
        """Return where the bytes of a digest are, if they are here."""
        return self.root / digest[:2] / digest[2:]

    def size(self, digest: str) -> int | None:
        """Return how many bytes are stored under a digest, None when there is no such blob."""
        try:
            return os.stat(self.path_of(digest), follow_symlinks=False).st_size
        except OSError:
            return None

    def open(self, digest: str) -> BufferedReader:
        """Open a blob for reading. Raises OSError."""
        handle = os.open(self.path_of(digest), os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        return os.fdopen(handle, "rb")

    def problem(self, digest: str) -> str | None:
        """Return what is wrong with the bytes of a digest, None when they are there and match."""
        try:
            with self.open(digest) as file:
                found = hashlib.file_digest(file, "sha256").hexdigest()
        except FileNotFoundError:
            return "missing"
        except OSError as error:
            return f"unreadable ({(error.strerror or str(error)).lower()})"
        return None if found == digest else "damaged"

    def digests(self) -> Iterator[str]:
        """Yield the digest of every blob, in order; whatever else lies there is passed over."""
        for folder in _names(self.root):
            if _FOLDER.fullmatch(folder):
                for rest in _names(self.root / folder):
                    if _REST.fullmatch(rest):
                        yield folder + rest

    def leftovers(self) -> list[Path]:
        """Return the files of ingestions that are under way or were interrupted."""
        folder = self.root / INCOMING
        return [folder / name for name in _names(folder)]

    def remove(self, digest: str) -> None:
        """Remove a blob, under `exclusive`; one that is gone already is no problem."""
        with self._explained(), contextlib.suppress(FileNotFoundError):
            os.unlink(self.path_of(digest))

    @contextlib.contextmanager
    def exclusive(self) -> Iterator[None]:
        """Be the only one who touches the folder; nobody is between ingestion and commit then.

        Raises StoreBusy when somebody is for too long.
        """
        with self._explained():
            handle = self._open_lock()
        try:
            self._take(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)

    def sweep(self) -> None:
        """Remove what interrupted ingestions left, under `exclusive`."""
        with self._explained():
            for path in self.leftovers():
                path.unlink(missing_ok=True)

    def close(self) -> None:
        """Give up every hold."""
        with self._mutex:
            handle, self._lock_file, self._holds = self._lock_file, None, 0
            if handle is not None:
                os.close(handle)

    def _take_shared(self) -> None:
        """Take the lock; the first time, clean up after processes that died."""
        with self._explained():
            if self._lock_file is None:
                handle = self._lock_file = self._open_lock()
                if self.leftovers() and _try(handle, fcntl.LOCK_EX):
                    self.sweep()
        self._take(self._lock_file, fcntl.LOCK_SH)

    def _take(self, handle: int, kind: int) -> None:
        give_up_at = time.monotonic() + self._wait_seconds
        with self._explained():
            while not _try(handle, kind):
                if time.monotonic() >= give_up_at:
                    break
                time.sleep(_PAUSE_SECONDS)
            else:
                return
        raise StoreBusy(
            f"the artifacts of {self.root} were in use for more than {self._wait_seconds:g} s",
            help="try again; if it stays so, look for a process that hangs",
        )

    def _open_lock(self) -> int:
        make_folder(self.root)
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        return os.open(self.root / LOCK, flags, 0o600)

    def _write_part(self, data: bytes) -> Path:
        """Write bytes to a fresh file of `incoming/`, and to the disk."""
        folder = self.root / INCOMING
        make_folder(folder)
        name = f"{os.getpid()}-{threading.get_native_id()}-{time.monotonic_ns()}"
        part = folder / name
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        handle = os.open(part, flags, 0o600)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(part)
            raise
        return part

    @contextlib.contextmanager
    def _explained(self) -> Iterator[None]:
        """Turn an error of the system into ours."""
        try:
            yield
        except OSError as error:
            raise _explain(error, self.root) from error


def _explain(error: OSError, root: Path) -> StoreError:
    reason = (error.strerror or str(error)).lower()
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return StoreFull(
            f"no space left for the artifacts in {root}; the last one was not stored",
            help="free some space, then resume the run",
        )
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return StoreReadOnly(
            f"{root} cannot be written: {reason}", help="check the owner and mode of the folder"
        )
    return StoreError(f"{error.filename or root}: {reason}")


def _try(handle: int, kind: int) -> bool:
    try:
        fcntl.flock(handle, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _holds_exactly(place: Path, data: bytes) -> bool:
    try:
        handle = os.open(place, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return False
    with os.fdopen(handle, "rb") as file:
        if os.fstat(handle).st_size != len(data):
            return False
        view = memoryview(data)
        for start in range(0, len(data), _CHUNK_BYTES):
            if file.read(_CHUNK_BYTES) != view[start : start + _CHUNK_BYTES]:
                return False
    return True


def _names(folder: Path) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except (FileNotFoundError, NotADirectoryError):
        return []
