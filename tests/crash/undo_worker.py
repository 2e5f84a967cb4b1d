"""A process that undoes a failed run and kills itself at one exact point.

    python undo_worker.py FOLDER fail|compensate|resume IDEMPOTENCY POINT

POINT is `none`, `commit-before:N`, `commit-after:N`, `inverse-before:N` or `inverse-after:N`: the
N-th commit, of whichever run, or the N-th call of the inverse before or after its mark. A mark is
one line in `FOLDER/undone.txt`. The last line on standard output counts commits and calls.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from agentctl import Engine
from agentctl.errors import CompensationBlocked
from agentctl.testing import CrashPoint
from tests.crash.matrix_worker import append, kill, lines

if TYPE_CHECKING:
    from agentctl.engine.records import Idempotency


def document() -> dict[str, Any]:
    """Return two tasks with inverses, and the failure after them."""

    def undoable(name: str, *needs: str) -> dict[str, Any]:
        given = {"with": {"line": name}}
        inverse = {"uses": "action:undo", **given}
        return {
            "id": name,
            "uses": "action:do",
            "needs": list(needs),
            **given,
            "compensate": inverse,
        }

    end = {"id": "end", "uses": "action:refuse", "needs": ["second"], "with": {"that": False}}
    return {
        "apiVersion": "agentctl.dev/v1",
        "kind": "Workflow",
        "metadata": {"name": "undo"},
        "spec": {
            "policy": {"approval": "never"},
            "actions": {"refuse": {"kind": "builtin.assert"}},
            "tasks": [undoable("first"), undoable("second", "first"), end],
        },
    }


class Inverse:
    """The undoing outside, which dies where it is told to."""

    def __init__(self, folder: Path, point: str, *, keyed: bool) -> None:
        kind, _, number = point.partition(":")
        self.path = folder / "undone.txt"
        self.keys = folder / "keys.txt"
        self.keyed = keyed
        self.before = int(number) if kind == "inverse-before" else 0
        self.after = int(number) if kind == "inverse-after" else 0
        self.calls = 0

    def __call__(self, line: str, key: str) -> None:
        """Leave one mark; the receiver of a keyed request knows what it did already."""
        self.calls += 1
        if self.calls == self.before:
            kill()
        if not self.keyed or key not in lines(self.keys):
            append(self.keys, key)
            append(self.path, line)
        if self.calls == self.after:
            kill()


def crash_of(point: str) -> CrashPoint:
    """Return the commit around which to die."""
    kind, _, number = point.partition(":")
    at = int(number) if kind.startswith("commit-") else 0
    return CrashPoint(at=at, after=kind == "commit-after", crash=kill)


def main() -> None:
    """Do one command and say how often it committed and called."""
    folder, command, idempotency, point = Path(sys.argv[1]), *sys.argv[2:]
    crash = crash_of(point)
    inverse = Inverse(folder, point, keyed=idempotency == "keyed")
    with Engine(folder / "state.db", workspace=folder, wrap_store=crash.watch) as engine:

        @engine.action("do")
        async def do(line: str) -> dict[str, str]:
            return {"line": line}

        @engine.action("undo", idempotency=cast("Idempotency", idempotency))
        async def undo(line: str, idempotency_key: str) -> dict[str, bool]:
            inverse(line, idempotency_key)
            return {}

        state = perform(engine, command)
    print(json.dumps({"state": state, "commits": crash.count, "calls": inverse.calls}))


def perform(engine: Engine, command: str) -> str:
    """Fail, undo, or go on undoing; return the state of the run that did it, or the refusal."""
    runs = {one.mode: one.id for one in reversed(engine.store.list_runs())}
    if command == "fail":
        return engine.start_sync(engine.load(document())).state
    if command == "resume":
        return engine.resume_sync(runs["compensation"]).state
    try:
        return engine.compensate_sync(runs["run"], actor="ada").state
    except CompensationBlocked as refused:
        return refused.code


if __name__ == "__main__":
    main()
