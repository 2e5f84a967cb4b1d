"""What probes take of a run's budgets: held before they are asked, and settled by the answer."""

from __future__ import annotations

import os
import sys
from typing import Any

import pytest

from agentctl.store.verify import verify_run
from agentctl.testing import CrashPoint, SimulatedCrash
from tests.engine.harness import Bench, child, task, workflow
from tests.engine.test_reconciliation import World, crashed

PYTHON = os.path.basename(sys.executable)
MOST = 2 * 1000
ANY = {"type": "object"}
LOOKING = """
import json, os, sys
PROTOCOL = "agentctl.dev/process-extension/v1"
ANY = {"type": "object"}
if "--agentctl-handshake" in sys.argv:
    print(json.dumps({"protocolVersion": PROTOCOL, "name": "look", "inputSchema": ANY,
                      "outputSchema": ANY, "capabilities": []}))
else:
    request = json.load(sys.stdin)
    open("asked", "a", encoding="utf-8").write("x")
    print(json.dumps({"protocolVersion": PROTOCOL, "effectId": request["effectId"],
                      "output": request["input"]}))
"""
PROBE: dict[str, Any] = {"uses": "action:look", "with": {"status": "unknown"}, "mode": "manual"}


def document(budget: int) -> dict[str, Any]:
    """Return a workflow whose probe is a program, which may print so much."""
    look = {
        "kind": "extension.process",
        "command": sys.executable,
        "args": ["-I", "-S", "look.py"],
        "idempotency": "idempotent",
        "protocolVersion": "agentctl.dev/process-extension/v1",
        "inputSchema": ANY,
        "outputSchema": ANY,
        "capabilities": [],
        "combinedOutputLimitBytes": MOST // 2,
        "stdoutLimitBytes": MOST // 2,
        "stderrLimitBytes": MOST // 2,
    }
    return workflow(
        task("t", "action:work", with_={"n": 5}),
        policy={"approval": "never", "processAllowlist": [PYTHON]},
        actions={"look": look},
        runtime={"budgets": {"maxProcessOutputBytes": budget}},
    )


def doubtful(bench: Bench, budget: int) -> str:
    """Return a run with one effect in doubt."""
    (bench.folder / "look.py").write_text(LOOKING, encoding="utf-8")
    return crashed(bench, World(), document(budget), at=2, probe=PROBE)


def used(bench: Bench, run_id: str) -> int:
    """Return how many bytes count as printed, as `inspect` shows it."""
    count = child(bench.engine.inspect(run_id), "budget", "usage", "processOutputBytes")
    assert isinstance(count, int)
    return count


def asked(bench: Bench) -> int:
    """Return how often the world was asked."""
    log = bench.folder / "asked"
    return len(log.read_text(encoding="utf-8")) if log.exists() else 0


def test_a_probe_uses_what_it_printed_and_another_one_adds_to_it(bench: Bench) -> None:
    run_id = doubtful(bench, 10 * MOST)
    counts = []
    for _ in range(2):
        (probed,) = bench.engine.probe_sync(run_id)
        assert probed.reason == "the probe does not know"
        counts.append(used(bench, run_id))
    assert 0 < counts[0] < MOST
    assert counts[1] == 2 * counts[0]
    assert asked(bench) == 2
    assert verify_run(bench.engine.store, run_id) == []


def test_a_probe_that_could_pass_the_limit_is_not_asked_and_leaves_the_doubt(
    bench: Bench,
) -> None:
    run_id = doubtful(bench, MOST - 1)
    (probed,) = bench.engine.probe_sync(run_id)
    assert probed.status is None
    assert probed.reason == (
        "the budget of processOutputBytes is 1,999, the next step comes to 2,000"
    )
    assert (asked(bench), used(bench, run_id)) == (0, 0)
    (found,) = bench.engine.history(run_id).reconciliations
    assert found.state == "open"


def test_a_probe_is_paid_for_before_it_is_asked(bench: Bench) -> None:
    run_id = doubtful(bench, 2 * MOST - 1)
    engine = bench.reopened(CrashPoint(at=3))
    World().register(engine, probe=PROBE)
    with pytest.raises(SimulatedCrash):
        engine.probe_sync(run_id)
    World().register(bench.reopened(), probe=PROBE)
    assert (asked(bench), used(bench, run_id)) == (1, MOST)
    (probed,) = bench.engine.probe_sync(run_id)
    assert "budget of processOutputBytes" in probed.reason
    assert asked(bench) == 1


def test_what_a_probe_used_counts_against_the_resumed_run(bench: Bench) -> None:
    run_id = doubtful(bench, 10 * MOST)
    bench.engine.probe_sync(run_id)
    before = used(bench, run_id)
    bench.engine.reconcile(
        run_id, "t/1.0", status="applied", actor="ada", reason="seen", result={"n": 5}
    )
    assert bench.engine.resume_sync(run_id).state == "succeeded"
    assert used(bench, run_id) == before
