"""Agents with the catalog that follow a script, on a real engine."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from agentctl.catalog.descriptor import GROUPS
from agentctl.catalog.tools import CLAIMS
from tests.engine.harness import Bench, task, workflow

if TYPE_CHECKING:
    from agentctl import RunOutcome
    from agentctl.engine.entities import Entity, EntityKind

Call = tuple[str, dict[str, Any]]
# Everything that a workflow can grant, to a role that may do everything.
EVERYTHING: dict[str, Any] = {
    "role": "board",
    "groups": [one for one in GROUPS if one != "test_escape_hatch"],
    "claims": list(CLAIMS),
}


def scripted(
    *calls: Call,
    policy: dict[str, Any] | None = None,
    name: str = "writer",
    **catalog: Any,
) -> dict[str, Any]:
    """Return a workflow with one agent that makes these calls, one in each turn."""
    agent = {
        "provider": "fake",
        "model": "scripted",
        "instructions": "Do it.",
        "maxTurns": 30,
        "maxToolCalls": 30,
        "catalog": catalog,
        "providerOptions": {
            "toolCalls": [{"name": name, "arguments": given} for name, given in calls],
            "finalText": "done",
        },
    }
    return workflow(
        task("work", f"agent:{name}", with_={"prompt": "Write the brief."}),
        providers={"fake": {"kind": "fake"}},
        agents={name: agent},
        policy={"approval": "never", **(policy or {})},
        outputs={"answer": "${{ tasks.work.output }}"},
    )


def answers(bench: Bench, run_id: str) -> list[dict[str, Any]]:
    """Return what the catalog's calls of a run were answered, in order."""
    effects = bench.engine.history(run_id).effects
    return [
        json.loads(json.dumps(one.result))
        for one in effects
        if one.operation.startswith("catalog.") and one.result is not None
    ]


def carried_out(bench: Bench, *calls: Call, **catalog: Any) -> list[dict[str, Any]]:
    """Run a script to its end, and return its answers."""
    outcome: RunOutcome = bench.run(scripted(*calls, **catalog))
    assert outcome.state == "succeeded", outcome.error
    return answers(bench, outcome.run_id)


def kept(bench: Bench, kind: EntityKind) -> list[Entity]:
    """Return the entities of one kind."""
    return bench.engine.store.entities.look(lambda view: view.entities(kind))
