"""A process that runs or resumes the crash workflow and kills itself at one exact point.

    python worker.py FOLDER run|resume POINT

POINT is `none`, or `commit-before:N`, `commit-after:N`, `dispatch-before:N`,
`dispatch-after:N`: the N-th commit, or the N-th call of an external function before or after it
has left its mark. The mark is one line in `FOLDER/marks.txt`.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

from agentctl import Engine
from agentctl.testing import CrashPoint


def kill() -> None:
    """Die as by a power cut: no handler, no cleanup."""
    os.kill(os.getpid(), signal.SIGKILL)


class Outside:
    """The world that the workflow touches: an append-only file of marks."""

    def __init__(self, folder: Path, point: str) -> None:
        kind, _, number = point.partition(":")
        self.marks = folder / "marks.txt"
        self.before = int(number) if kind == "dispatch-before" else 0
        self.after = int(number) if kind == "dispatch-after" else 0
        self.calls = 0

    def touch(self, line: str, key: str | None) -> None:
        """Leave one mark; a keyed one only if its key is new, as a real service would."""
        self.calls += 1
        if self.calls == self.before:
            kill()
        text = self.marks.read_text(encoding="utf-8") if self.marks.exists() else ""
        if key is None or f"{key}\n" not in text:
            with self.marks.open("a", encoding="utf-8") as file:
                file.write(f"{line} {key or '-'}\n")
                file.flush()
                os.fsync(file.fileno())
        if self.calls == self.after:
            kill()


def document() -> dict[str, Any]:
    """Return twelve tasks: a start, parallel work, a loop, a router and an end."""

    def task(task_id: str, uses: str, *needs: str, **more: object) -> dict[str, object]:
        return {"id": task_id, "uses": uses, "needs": list(needs), **more}

    def marked(task_id: str, action: str, *needs: str, **more: object) -> dict[str, object]:
        return task(task_id, f"action:{action}", *needs, **{"with": {"line": task_id}, **more})

    loop = {"maxIterations": 3, "while": "${{ vars.loopIndex < 3 }}", "initial": None}
    route = {
        "select": "${{ tasks.begin.output.output.way }}",
        "cases": [{"equals": "ship", "tasks": ["ship"]}],
        "default": ["hold"],
    }
    tasks = [
        task("begin", "action:assign", **{"with": {"way": "ship"}}),
        marked("left", "keyed", "begin"),
        marked("middle", "keyed", "begin"),
        marked("right", "keyed", "begin"),
        task("memo", "action:remember", "left", **{"with": {"key": "memo", "value": "kept"}}),
        task(
            "again",
            "action:keyed",
            "left",
            "middle",
            "right",
            loop=loop,
            **{"with": {"line": "again-${{ vars.loopIndex }}"}},
        ),
        task("choose", "router", "again", route=route),
        marked("ship", "keyed", "choose"),
        marked("hold", "keyed", "choose"),
        marked("once", "once", "ship"),
        marked("after", "keyed", "once"),
        task("end", "action:assign", "after", "memo", **{"with": {"memo": "${{ memory.memo }}"}}),
    ]
    return {
        "apiVersion": "agentctl.dev/v1",
        "kind": "Workflow",
        "metadata": {"name": "crash"},
        "spec": {
            "runtime": {"maxConcurrency": 3},
            "policy": {"approval": "never"},
            "actions": {
                "assign": {"kind": "builtin.assign"},
                "remember": {"kind": "builtin.memory.write"},
            },
            "tasks": tasks,
            "outputs": {"memo": "${{ tasks.end.output.output.memo }}"},
        },
    }


def main() -> None:
    """Run or resume, and print how it stands."""
    folder, command, point = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
    outside = Outside(folder, point)
    kind, _, number = point.partition(":")
    crash = CrashPoint(
        at=int(number) if kind.startswith("commit") else 0,
        after=kind == "commit-after",
        crash=kill,
    )
    with Engine(folder / "state.db", workspace=folder, wrap_store=crash.watch) as engine:

        @engine.action("keyed", idempotency="keyed")
        async def keyed(line: str, idempotency_key: str) -> dict[str, str]:
            outside.touch(line, idempotency_key)
            return {"line": line}

        @engine.action("once", idempotency="at_most_once")
        async def once(line: str) -> dict[str, str]:
            outside.touch(line, None)
            return {"line": line}

        if command == "run":
            outcome = engine.start_sync(engine.load(document()))
        else:
            (run,) = engine.store.list_runs()
            outcome = engine.resume_sync(run.id)
        counts = {"commits": crash.count, "calls": outside.calls}
        print(json.dumps({"state": outcome.state, "output": outcome.output, **counts}))


if __name__ == "__main__":
    main()
