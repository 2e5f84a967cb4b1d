"""Questions to people: the run waits, a person answers, the agent goes on with the answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from agentctl.errors import RequestAnswered, UnknownRequest, UsageError
from tests.control.mutations import QUESTION, written
from tests.control.working import answers, scripted

if TYPE_CHECKING:
    from tests.engine.harness import Bench

FINISH = ("finish_task", {"summary": "done"})


def asking(**more: Any) -> tuple[str, dict[str, Any]]:
    """Return a call that asks a person and waits."""
    return ("request_human_input", {**QUESTION, "continuationPolicy": "wake_assignee", **more})


def waiting(bench: Bench, *calls: Any) -> tuple[str, str]:
    """Run a script up to its question; return the run's id and the question's."""
    outcome = bench.run(scripted(*calls))
    assert (outcome.state, outcome.exit_code) == ("paused", 3)
    (asked,) = bench.engine.requests()
    assert asked["runId"] == outcome.run_id
    return outcome.run_id, str(asked["requestId"])


def test_a_run_waits_for_the_answer_and_goes_on_with_it(bench: Bench) -> None:
    run_id, request = waiting(bench, written("one", None), asking(), FINISH)
    assert bench.engine.resume_sync(run_id).state == "paused"
    told = bench.engine.answer_request(request, accepted=True, answer="left", actor="ann")
    assert (told["state"], told["answer"], told["runId"]) == ("answered", "left", run_id)
    bench.reopened()
    outcome = bench.engine.resume_sync(run_id)
    assert outcome.state == "succeeded"
    *_, taken, finished = answers(bench, run_id)
    assert taken["value"]["answer"] == "left"
    assert taken["value"]["answeredBy"] == "ann"
    assert finished["value"]["state"] == "done"
    assert bench.engine.requests() == []
    assert len(bench.engine.requests(all=True)) == 1


def test_the_model_is_told_the_answer_of_the_person(bench: Bench) -> None:
    run_id, request = waiting(bench, asking())
    bench.engine.answer_request(request, accepted=True, answer="left", actor="ann")
    bench.engine.resume_sync(run_id)
    last = bench.engine.history(run_id).effects[-1]
    assert last.operation == "model.fake"
    assert '"answer":"left"' in str(last.input)


def test_a_task_that_waits_for_a_person_cannot_be_handed_in_besides(bench: Bench) -> None:
    outcome = bench.run(
        scripted(asking(continuationPolicy="none"), ("request_review", {"summary": "look"}))
    )
    asked, refused = answers(bench, outcome.run_id)
    assert asked["value"]["task"] == "in_review"
    assert refused["error"]["reason"] == "assignment_not_open"
    assert refused["error"]["detail"]["state"] == "in_review"


def test_a_no_ends_the_turn_of_an_agent_that_waits_for_a_yes(bench: Bench) -> None:
    question = asking(continuationPolicy="wake_assignee_on_accept", interactionKind="confirmation")
    run_id, request = waiting(bench, question, FINISH)
    bench.engine.answer_request(request, accepted=False, actor="ann")
    outcome = bench.engine.resume_sync(run_id)
    assert outcome.state == "succeeded"
    *_, taken = answers(bench, run_id)
    assert (taken["value"]["state"], taken["value"]["accepted"]) == ("declined", False)


def test_approving_the_effect_without_an_answer_is_a_plain_yes(bench: Bench) -> None:
    run_id, _ = waiting(bench, asking(interactionKind="confirmation"))
    (question,) = bench.engine.history(run_id).approvals
    bench.engine.decide_approval(question.id, approve=True, actor="ann")
    assert bench.engine.resume_sync(run_id).state == "succeeded"
    *_, taken = answers(bench, run_id)
    assert (taken["value"]["accepted"], taken["value"]["answer"]) == (True, None)


def test_an_answer_is_given_once_and_the_same_answer_again_changes_nothing(bench: Bench) -> None:
    _, request = waiting(bench, asking())
    with pytest.raises(UsageError, match="more than a yes"):
        bench.engine.answer_request(request, accepted=True, actor="ann")
    first = bench.engine.answer_request(request, accepted=True, answer=1, actor="ann")
    assert bench.engine.answer_request(request, accepted=True, answer=1, actor="ann") == first
    with pytest.raises(RequestAnswered):
        bench.engine.answer_request(request, accepted=True, answer=2, actor="ann")
    with pytest.raises(UnknownRequest):
        bench.engine.answer_request("request-0", accepted=True, answer=2, actor="ann")


def test_a_question_about_a_revision_needs_the_newest_one(bench: Bench) -> None:
    outcome = bench.run(
        scripted(
            written("one", None),
            written("two", "brief@1"),
            asking(targetRevisionId="brief@1"),
            asking(targetRevisionId="plan@1"),
        )
    )
    *_, old, none = answers(bench, outcome.run_id)
    assert old["error"]["detail"] == {"currentRevisionId": "brief@2"}
    assert none["error"]["reason"] == "unknown_revision"


@pytest.mark.parametrize(("accepted", "state"), [(True, "done"), (False, "open")])
def test_a_review_is_judged_and_moves_its_task(bench: Bench, accepted: bool, state: str) -> None:
    bench.run(scripted(("request_review", {"summary": "look"})))
    (asked,) = bench.engine.requests()
    bench.engine.answer_request(
        str(asked["requestId"]), accepted=accepted, actor="ann", reason="well"
    )
    (task,) = bench.engine.store.entities.look(lambda view: view.entities("assignment"))
    assert task.state == state
