"""An engine on a real file with a clock that never waits, and workflows as mappings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from attr import define, field

from agentctl import Engine
from agentctl.testing import FixedEntropy, ManualClock

if TYPE_CHECKING:
    from pathlib import Path

    from agentctl import Event, RunOutcome
    from agentctl.testing import CrashPoint


def workflow(*tasks: dict[str, Any], **spec: Any) -> dict[str, Any]:
    """Return a document with the usual actions and the given tasks."""
    actions = {
        "assign": {"kind": "builtin.assign"},
        "assert": {"kind": "builtin.assert"},
        "read": {"kind": "builtin.read"},
        "write": {"kind": "builtin.write"},
        "recall": {"kind": "builtin.memory.read"},
        "remember": {"kind": "builtin.memory.write"},
    }
    policy = {"approval": "never", "writableRoots": ["out"]}
    return {
        "apiVersion": "agentctl.dev/v1",
        "kind": "Workflow",
        "metadata": {"name": "test"},
        "spec": {
            "policy": policy,
            **spec,
            "actions": {**actions, **spec.get("actions", {})},
            "tasks": list(tasks),
        },
    }


def task(name: str, uses: str, *needs: str, **more: Any) -> dict[str, Any]:
    """Return a task; `with_` is its input."""
    given = {"with": more.pop("with_")} if "with_" in more else {}
    return {"id": name, "uses": uses, "needs": list(needs), **given, **more}


@define
class Bench:
    """One engine, its clock, and what it told."""

    folder: Path
    clock: ManualClock = field(factory=ManualClock)
    entropy: FixedEntropy = field(factory=FixedEntropy)
    events: list[Event] = field(factory=list)
    engine: Engine = field(init=False)
    opened: list[Engine] = field(factory=list)

    def __attrs_post_init__(self) -> None:
        """Open the engine."""
        self.engine = self.reopened()

    def reopened(self, crash: CrashPoint | None = None) -> Engine:
        """Return another engine on the same file, as a new process would have."""
        self.engine = Engine(
            self.folder / "state.db",
            workspace=self.folder,
            clock=self.clock,
            entropy=self.entropy,
            wrap_store=crash.watch if crash else None,
        )
        self.engine.subscribe(self.events.append)
        self.opened.append(self.engine)
        return self.engine

    def close(self) -> None:
        """Close every engine, also those that stand for a process that died."""
        for one in self.opened:
            one.close()

    def run(self, document: dict[str, Any], **inputs: Any) -> RunOutcome:
        """Run a document to its end."""
        return self.engine.start_sync(self.engine.load(document), inputs=inputs or None)

    def states(self, run_id: str) -> dict[str, str]:
        """Return every task's state by id."""
        return {one.id: one.state for one in self.engine.history(run_id).tasks}

    def outputs(self, run_id: str) -> dict[str, Any]:
        """Return every task's output by id."""
        return {one.id: one.output for one in self.engine.history(run_id).tasks}

    def told(self, *names: str) -> list[str]:
        """Return the events of some types, as `type entity`, in order."""
        return [f"{one.event_type} {one.entity}" for one in self.events if one.event_type in names]


def child(value: Any, *path: str | int) -> Any:
    """Return a part of a JSON value."""
    for step in path:
        value = cast("Any", value)[step]
    return value
