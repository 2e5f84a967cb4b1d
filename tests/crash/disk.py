"""A disk that may lose whatever was not synchronised, rebuilt from a recording.

Above: the tests of power loss. Below: `recording`. It keeps two versions of everything: what
was written, and what is certain. A file's bytes become certain when the file is synchronised; a
name (of a new, renamed or removed entry) becomes certain when its folder is. In between, each
single change may have reached the disk or not, in any order, and a write also by half.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from tests.crash.recording import Event

    Fate = Literal["lost", "half", "kept"]
    Change = tuple[int | None, bytes]
    Tree = dict[str, "bytes | bytearray | None"]


class Node:
    """A file or folder: what was written, what is certain, and the changes between."""

    def __init__(self, *, is_folder: bool = False) -> None:
        self.is_folder = is_folder
        self.written = bytearray()
        self.certain = bytearray()
        self.changes: list[Change] = []
        self.settled = 0

    def write(self, offset: int | None, data: bytes) -> None:
        """Write at an offset, at the end (None)."""
        change = (len(self.written) if offset is None else offset, data)
        self.changes.append(change)
        _apply(self.written, change)

    def cut(self, size: int) -> None:
        """Change the size."""
        change = (None, size.to_bytes(8))
        self.changes.append(change)
        _apply(self.written, change)

    def settle(self, until: int) -> None:
        """Make certain all changes up to a number."""
        count = max(until - self.settled, 0)
        for change in self.changes[:count]:
            _apply(self.certain, change)
        del self.changes[:count]
        self.settled += count

    def perhaps(self, fate: Callable[[], Fate]) -> bytearray:
        """Return the certain bytes with those changes that fate keeps, whole or by half."""
        data = bytearray(self.certain)
        for offset, piece in self.changes:
            came = fate()
            if came == "kept" or (came == "half" and offset is None):
                _apply(data, (offset, piece))
            elif came == "half":
                _apply(data, (offset, piece[: len(piece) // 2]))
        return data


class Disk:
    """All files below one folder, which was there before and stays; so do `folders` in it."""

    def __init__(self, folders: Iterable[str] = ()) -> None:
        self.root = Node(is_folder=True)
        self.names: dict[str, Node] = {"": self.root}
        self.names |= {name: Node(is_folder=True) for name in folders}
        self.certain = dict(self.names)
        self.renames: dict[str, list[tuple[str, Node | None]]] = {}
        self._settled: dict[str, int] = {}
        self._syncs: dict[int, tuple[Node, int, int]] = {}

    def apply(self, event: Event) -> bool:
        """Follow one event; return whether it changed what is written or what is certain."""
        kind, path, node = event.kind, event.path, self.names.get(event.path)
        if kind in ("file", "folder"):
            if node is not None:
                return False
            self._name(path, Node(is_folder=kind == "folder"))
        elif kind == "rename":
            self._name(event.target, node)
            self._name(path, None)
        elif kind == "remove":
            self._name(path, None)
        elif node is None:
            # It goes on in a file that has no name any more.
            return False
        elif kind == "write":
            node.write(event.offset, event.data)
        elif kind == "cut":
            if event.offset == len(node.written):
                return False
            node.cut(event.offset or 0)
        elif kind == "sync":
            self._sync(event.call, path, node)
            return False
        else:
            return self._synced(event.call, path)
        return True

    def written(self) -> Tree:
        """Return everything that was written."""
        return {
            path: None if node.is_folder else node.written for path, node in self.names.items()
        }

    def certainly(self) -> Tree:
        """Return only what was synchronised."""
        return self.perhaps(lambda: "lost")

    def perhaps(self, fate: Callable[[], Fate]) -> Tree:
        """Return what is certain, and of everything else what fate keeps."""
        names = dict(self.certain)
        for changes in self.renames.values():
            for path, node in changes:
                if fate() == "kept":
                    _set(names, path, node)
        return {
            path: None if node.is_folder else node.perhaps(fate)
            for path, node in names.items()
            if _reachable(path, names)
        }

    def _name(self, path: str, node: Node | None) -> None:
        _set(self.names, path, node)
        self.renames.setdefault(os.path.dirname(path), []).append((path, node))

    def _sync(self, call: int, path: str, node: Node) -> None:
        """Note what a sync covers: what was changed before it was asked for."""
        names = self._settled.get(path, 0) + len(self.renames.get(path, ()))
        self._syncs[call] = (node, node.settled + len(node.changes), names)

    def _synced(self, call: int, path: str) -> bool:
        node, until, names = self._syncs.pop(call)
        before = (node.settled, self._settled.get(path, 0))
        node.settle(until)
        if node.is_folder:
            count = max(names - before[1], 0)
            for name, entry in self.renames.get(path, ())[:count]:
                _set(self.certain, name, entry)
            self.renames[path] = list(self.renames.get(path, ())[count:])
            self._settled[path] = before[1] + count
        return before != (node.settled, self._settled.get(path, 0))


def write_out(tree: Tree, folder: Path) -> None:
    """Lay a tree down in a folder."""
    for path, data in sorted(tree.items()):
        if data is None:
            os.makedirs(folder / path, exist_ok=True)
        else:
            with (folder / path).open("wb") as file:
                file.write(data)


def _apply(data: bytearray, change: Change) -> None:
    offset, piece = change
    if offset is None:
        size = int.from_bytes(piece)
        del data[size:]
        data.extend(bytes(size - len(data)))
        return
    data.extend(bytes(max(offset - len(data), 0)))
    data[offset : offset + len(piece)] = piece


def _set(names: dict[str, Node], path: str, node: Node | None) -> None:
    if node is None:
        names.pop(path, None)
    else:
        names[path] = node


def _reachable(path: str, names: dict[str, Node]) -> bool:
    while path:
        path = os.path.dirname(path)
        above = names.get(path)
        if above is None or not above.is_folder:
            return False
    return True
