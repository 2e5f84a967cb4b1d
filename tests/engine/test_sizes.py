"""What values cost on the disk, and what is too large to be kept at all."""

from __future__ import annotations

import random
import string
from typing import TYPE_CHECKING, Any

from agentctl.limits import OUTPUT_BYTES_MAX
from agentctl.store.portable import export_run, opened
from agentctl.store.verify import verify_run
from tests.engine.harness import Bench, child, task, workflow

if TYPE_CHECKING:
    from pathlib import Path

TASKS = 1_000
KILOBYTE = 1_000
GROWTH_BYTES_MAX = 3_000_000
FAR_TOO_LARGE = 200_000_000


def size_of(bench: Bench) -> int:
    """Return how large the database is with all of its log."""
    database = bench.engine.store.database
    database.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return database.path.stat().st_size


def test_what_a_thousand_tasks_add_to_memory_is_stored_once(bench: Bench) -> None:
    """Each adds a kilobyte that hardly compresses; none stores the memory of the others again."""
    letters = string.ascii_letters + string.digits
    text = "".join(random.Random(1).choices(letters, k=KILOBYTE))
    adding = [
        task(
            f"t{number}",
            "action:remember",
            *([f"t{number - 1}"] if number else []),
            with_={"key": f"k{number}", "value": f"{number} ${{{{ inputs.text }}}}"},
        )
        for number in range(TASKS)
    ]
    before = size_of(bench)
    outcome = bench.run(workflow(*adding, inputs={"text": text}))
    grown = size_of(bench) - before
    history = bench.engine.history(outcome.run_id)
    assert outcome.state == "succeeded"
    assert history.memory == {f"k{number}": f"{number} {text}" for number in range(TASKS)}
    assert KILOBYTE * TASKS // 2 < grown < GROWTH_BYTES_MAX
    assert verify_run(bench.engine.store, outcome.run_id) == []


def test_an_output_that_is_far_too_large_is_refused_and_its_run_stays_usable(
    bench: Bench, tmp_path: Path
) -> None:
    @bench.engine.action("huge", idempotency="idempotent")
    def huge() -> str:
        return "x" * FAR_TOO_LARGE

    before = size_of(bench)
    asking: dict[str, Any] = {
        "policy": {"approval": "high_risk", "writableRoots": ["out"]},
        "actions": {"run": {"kind": "builtin.shell.exec", "command": "true"}},
    }
    asking["policy"]["processAllowlist"] = ["true"]
    document = workflow(
        task("big", "action:huge", failure="continue"), task("asks", "action:run"), **asking
    )
    run_id = bench.run(document).run_id
    shown = bench.engine.inspect(run_id)
    assert child(shown, "run", "state") == "paused"
    error = child(shown, "tasks", 0, "error")
    assert error["code"] == "output_too_large"
    assert f"OUTPUT_BYTES_MAX = {OUTPUT_BYTES_MAX:,} bytes" in error["message"]
    assert size_of(bench) - before < KILOBYTE * KILOBYTE
    target = tmp_path / "run.jsonl"
    export_run(bench.engine.store, run_id, str(target), artifacts=True)
    with opened(str(target)) as (_, portable):
        assert portable.run_id == run_id
    outcome = bench.engine.cancel_sync(run_id, actor="ann")
    assert outcome is not None
    assert outcome.state == "cancelled"
