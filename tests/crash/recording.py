"""What a real process asked of the operating system, in order: writes, names, syncs, and words.

Above: the tests of power loss. Below: strace, which sees every system call of every thread. Only
what lies below one folder is kept, and what is said on standard output. A write counts from the
moment it is asked for; everything else when it has returned.
"""

from __future__ import annotations

import os
import re
import subprocess
from typing import TYPE_CHECKING, Literal

from attr import frozen

from agentctl.value import Value

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    Kind = Literal["write", "cut", "file", "folder", "rename", "remove", "sync", "synced", "said"]

_CALLS = (
    "open,openat,creat,mkdir,mkdirat,write,pwrite64,writev,pwritev,pwritev2,truncate,ftruncate,"
    "fallocate,copy_file_range,sendfile,fsync,fdatasync,sync_file_range,rename,renameat,"
    "renameat2,link,linkat,symlink,symlinkat,unlink,unlinkat,rmdir"
)
# Not every processor has every one of them.
_WANTED = ",".join(f"?{name}" for name in _CALLS.split(","))
# A line has every text in hexadecimal, so that brackets, commas and quotes delimit only.
_CALL = re.compile(r"(\w+)\((.*?)\)\s+= (-?\d+)")
_TEXT = re.compile(r'(?:"((?:\\x..)*)"|<((?:\\x..)*)>)')
_STRING_MAX = 1 << 24


@frozen(kw_only=True, eq=False, repr=False)
class Event(Value):
    """One thing that happened; `call` pairs the two ends of a sync."""

    kind: Kind
    path: str = ""
    target: str = ""
    data: bytes = b""
    offset: int | None = None
    call: int = 0


def record(command: Sequence[str], folder: Path, trace: Path) -> list[Event]:
    """Run a command to its good end; return what it did below `folder`, paths relative to it."""
    options = [
        "-f",
        "--seccomp-bpf",
        "-y",
        "-xx",
        "-s",
        str(_STRING_MAX),
        "-e",
        f"trace={_WANTED}",
        "-o",
        str(trace),
    ]
    subprocess.run(["strace", *options, *command], check=True, timeout=120, capture_output=True)
    return list(Reader(folder).read(trace))


class Reader:
    """Reads a trace; knows which calls have not returned yet."""

    def __init__(self, folder: Path) -> None:
        self._root = os.path.realpath(folder) + "/"
        self._open: dict[str, str] = {}
        self._calls = 0
        self._syncing: dict[str, int] = {}

    def read(self, trace: Path) -> Iterator[Event]:
        """Yield the events of a trace in order."""
        wanted = _hex(self._root[:-1])
        with trace.open(encoding="ascii") as lines:
            for line in lines:
                thread, _, text = line.partition(" ")
                text = text.strip()
                if text.startswith("<... "):
                    begun = self._open.pop(thread, "")
                    yield from self._returned(thread, begun + text.partition("resumed>")[2])
                elif text.endswith("<unfinished ...>"):
                    if wanted in text or text.startswith("write(1<"):
                        self._open[thread] = text.removesuffix("<unfinished ...>").rstrip()
                        yield from self._asked(thread, self._open[thread])
                elif wanted in text or text.startswith("write(1<"):
                    yield from self._asked(thread, text)
                    yield from self._returned(thread, text)

    def _asked(self, thread: str, text: str) -> Iterator[Event]:
        """Yield what counts from the moment it is asked for."""
        name, _, rest = text.partition("(")
        if name in ("write", "pwrite64") and not rest.startswith("1<"):
            path, data = (_bytes(one) for one in _TEXT.findall(rest)[:2])
            numbers = rest.rpartition('"')[2].partition(")")[0].split(",")
            offset = int(numbers[2]) if name == "pwrite64" else None
            yield from self._below("write", path, data=data, offset=offset)
        elif name in ("fsync", "fdatasync"):
            self._calls += 1
            self._syncing[thread] = self._calls
            yield from self._below("sync", _bytes(_TEXT.findall(rest)[0]), call=self._calls)

    def _returned(self, thread: str, text: str) -> Iterator[Event]:
        """Yield what counts when it has returned, and only then if it succeeded."""
        match = _CALL.match(text)
        if match is None or match[3] == "-1":
            return
        name, given, texts = match[1], match[2], [_bytes(one) for one in _TEXT.findall(match[2])]
        if name == "pwrite64" or (name == "write" and not given.startswith("1<")):
            # A short write would need a model of what came of it.
            assert int(match[3]) == len(texts[1]), text[:200]
        elif name == "write":
            yield Event(kind="said", data=texts[1])
        elif name in ("fsync", "fdatasync"):
            yield from self._below("synced", texts[0], call=self._syncing.pop(thread))
        else:
            yield from self._names(name, given, texts)

    def _names(self, name: str, given: str, texts: list[bytes]) -> Iterator[Event]:
        paths = _joined(name, texts)
        if name == "openat":
            if "O_CREAT" in given:
                yield from self._below("file", paths[0])
            if "O_TRUNC" in given:
                yield from self._below("cut", paths[0], offset=0)
        elif name == "ftruncate":
            size = int(given.rpartition(",")[2])
            yield from self._below("cut", paths[0], offset=size)
        elif name in ("mkdir", "mkdirat"):
            yield from self._below("folder", paths[0])
        elif name in ("unlink", "unlinkat", "rmdir"):
            yield from self._below("remove", paths[0])
        elif name in ("rename", "renameat", "renameat2"):
            target = os.fsdecode(paths[1]).removeprefix(self._root)
            yield from self._below("rename", paths[0], target=target)
        else:
            # Whatever else changes a file must be modelled before it can be trusted.
            raise AssertionError(name)

    def _below(
        self,
        kind: Kind,
        path: bytes,
        *,
        target: str = "",
        data: bytes = b"",
        offset: int | None = None,
        call: int = 0,
    ) -> Iterator[Event]:
        """Yield an event if its path lies below the folder; the index of a log is not kept."""
        place = os.fsdecode(path)
        if f"{place}/".startswith(self._root) and not place.endswith("-shm"):
            inside = place[len(self._root) :]
            yield Event(kind=kind, path=inside, target=target, data=data, offset=offset, call=call)


def _joined(name: str, texts: list[bytes]) -> list[bytes]:
    """Return the paths of a call; those of an …at call are relative to the folder before."""
    if not name.endswith(("at", "at2")):
        return texts
    return [os.path.join(*texts[place : place + 2]) for place in range(0, len(texts), 2)]


def _bytes(found: tuple[str, str]) -> bytes:
    return bytes.fromhex((found[0] or found[1]).replace("\\x", ""))


def _hex(text: str) -> str:
    return "".join(f"\\x{byte:02x}" for byte in os.fsencode(text))
