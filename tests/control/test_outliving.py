"""What runs leave with the control plane outlives them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentctl.store.retention import Selection, collect_runs
from agentctl.store.verify_entities import verify_entities
from tests.control.mutations import written
from tests.control.working import answers, kept, scripted

if TYPE_CHECKING:
    from tests.engine.harness import Bench


def test_a_collected_run_leaves_its_documents_and_takes_its_answers(bench: Bench) -> None:
    outcome = bench.run(scripted(written("one", None)))
    (answer,) = answers(bench, outcome.run_id)
    store = bench.engine.store
    removed = collect_runs(store, Selection(), bench.clock.now())
    assert [one.id for one in removed.runs] == [outcome.run_id]
    (document,) = kept(bench, "document")
    assert document.body["body"] == "one"
    assert verify_entities(store) == []
    key = answer["operationResultId"]
    assert store.entities.look(lambda view: view.result(outcome.run_id, key)) is None
