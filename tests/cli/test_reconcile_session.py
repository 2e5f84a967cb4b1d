"""`agentctl reconcile`: a dialogue on a terminal, a plan, and a file of findings."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.cli.doubt import ANSWER, Case, document, with_probe
from tests.cli.terminal import CTRL_C, CTRL_D

if TYPE_CHECKING:
    from pathlib import Path

CHOICE, REASON, SHOWS = "[q]uit: ", "how do you know? ", "that shows it (enter: none): "
RESULT, RESUME = "a JSON file with its result: ", "resume it now? [y/N] "


@pytest.fixture
def case(tmp_path: Path) -> Case:
    """A run with two effects in doubt."""
    return Case(tmp_path, document("first", "second"))


def test_a_dialogue_settles_every_effect_and_goes_on(case: Case) -> None:
    result = case.write("result.json", ANSWER)
    code, shown = case.talk(
        "reconcile",
        case.run_id,
        answers=[
            (CHOICE, "a"),
            (REASON, "the provider's log"),
            (SHOWS, "result.json"),
            (RESULT, result),
            (CHOICE, "n"),
            (REASON, "no trace"),
            (SHOWS, ""),
            (RESUME, "y"),
        ],
    )
    assert code == 0, shown
    assert "task first: did model.fake happen?" in shown
    assert "agentctl-" in shown
    assert "what you may say" in shown
    assert case.states() == ["first/1.0 applied", "second/1.0 not_applied"]
    assert (case.folder / "out" / "said.txt").read_text(encoding="utf-8") == "said before"


@pytest.mark.parametrize("leaving", ["q", CTRL_D, CTRL_C], ids=["q", "ctrl-d", "ctrl-c"])
def test_a_dialogue_can_be_left_and_taken_up_again(case: Case, leaving: str | bytes) -> None:
    answers: list[tuple[str, str | bytes]] = [(CHOICE, "n"), (REASON, "no trace"), (SHOWS, "")]
    code, shown = case.talk("reconcile", case.run_id, answers=[*answers, (CHOICE, leaving)])
    assert code == 3, shown
    assert "left; 1 more to settle" in shown
    assert case.states() == ["first/1.0 not_applied"]
    code, shown = case.talk("reconcile", case.run_id, answers=[*answers, (RESUME, "")])
    assert code == 0, shown
    assert "task second" in shown
    assert "task first" not in shown


def test_what_is_refused_is_asked_again(case: Case) -> None:
    bad = case.write("bad.json", {"text": 1})
    code, shown = case.talk(
        "reconcile",
        case.run_id,
        answers=[
            (CHOICE, "what"),
            (CHOICE, "a"),
            (REASON, ""),
            (REASON, "seen"),
            (SHOWS, ""),
            (RESULT, bad),
            ("not stored", b""),
            (CHOICE, "s"),
            (CHOICE, "s"),
        ],
    )
    assert code == 3, shown
    assert case.states() == []
    assert "2 more to settle" in shown


def test_a_probe_can_be_asked_in_the_dialogue(tmp_path: Path) -> None:
    answer = {"status": "not_applied", "evidence": "nothing there"}
    case = Case(tmp_path, with_probe(answer), at=3)
    code, shown = case.talk("reconcile", case.run_id, answers=[(CHOICE, "p"), (RESUME, "n")])
    assert code == 0, shown
    assert "probe look: not_applied" in shown
    assert case.states() == ["ask/1.1 not_applied"]


def test_without_a_terminal_it_says_how_to_do_without(case: Case) -> None:
    refused = case.json("reconcile", case.run_id).expect(3)
    assert refused.at("/error/code") == "terminal_required"
    assert "--decisions" in case.cli("reconcile", case.run_id).expect(3).stderr


def test_a_plan_says_what_would_be_asked_and_writes_nothing(case: Case) -> None:
    before = case.json("inspect", case.run_id).at("/data/audit")
    plan = case.json("reconcile", case.run_id, "--plan").expect(0)
    assert plan.at("/kind") == "ReconciliationPlan"
    asked = plan.items("/data/effects")
    assert [one["effectName"] for one in asked] == ["first/1.0", "second/1.0"]
    moves: Any = asked[0]["moves"]
    assert [one["status"] for one in moves] == ["applied", "not_applied"]
    assert moves[0]["needsResult"] is True
    assert "model's turn" in case.cli("reconcile", case.run_id, "--plan").expect(0).stdout
    assert case.json("inspect", case.run_id).at("/data/audit") == before


def test_a_file_of_findings_is_stored_whole_and_the_run_goes_on(case: Case) -> None:
    decisions = [
        {"effect": "first/1.0", "status": "applied", "reason": "a log", "result": ANSWER},
        {"effect": case.effect(1)[:16], "status": "not-applied", "reason": "no trace"},
    ]
    file = case.write("found.json", decisions)
    plan = case.json("reconcile", case.run_id, "--decisions", file, "--plan").expect(0)
    assert [one["status"] for one in plan.items("/data/findings")] == ["applied", "not_applied"]
    assert case.states() == []
    done = case.json(
        *("reconcile", case.run_id, "--decisions", file, "--resume", "--actor", "ada")
    ).expect(0)
    assert done.at("/data/state") == "succeeded"
    assert case.states() == ["first/1.0 applied", "second/1.0 not_applied"]


def test_one_commit_holds_all_findings_of_a_file(case: Case) -> None:
    (case.folder / "found.yaml").write_text(
        "- {effect: first/1.0, status: not_applied, reason: no trace, actor: ada}\n"
        "- effect: second/1.0\n"
        "  status: not_applied\n"
        "  reason: no trace\n"
        "  evidence: {seen: nothing}\n",
        encoding="utf-8",
    )
    done = case.json("reconcile", case.run_id, "--decisions", "found.yaml").expect(0)
    assert done.at("/data/remaining") == []
    actors = [one["actor"] for one in done.items("/data/findings")]
    assert actors[0] == "ada"
    again = case.cli("reconcile", case.run_id).expect(0)
    assert f"agentctl resume {case.run_id}" in again.stdout


@pytest.mark.parametrize(
    ("text", "problems"),
    [
        ("- {effect: first/1.0, status: gone, reson: x}", ["status", "reson", "reason"]),
        ("effect: first/1.0", ["list"]),
        ("- {effect: nope, status: not_applied, reason: x}", ["no effect 'nope'"]),
        (
            (
                "- {effect: first/1.0, status: applied, reason: x}\n"
                "- {effect: second/1.0, status: compensated, reason: x}\n"
                "- {effect: first/1.0, status: not_applied, reason: x}"
            ),
            ["needs a result", "names the effect that undid it", "already"],
        ),
    ],
)
def test_every_problem_of_a_file_is_told_before_anything_is_stored(
    case: Case, text: str, problems: list[str]
) -> None:
    (case.folder / "found.yaml").write_text(text, encoding="utf-8")
    refused = case.json("reconcile", case.run_id, "--decisions", "found.yaml").expect(2)
    told = json.dumps(refused.document)
    assert all(one in told for one in problems), told
    assert case.states() == []


def test_a_run_that_is_over_says_what_is_left_to_do(tmp_path: Path) -> None:
    case = Case(tmp_path, document("ask"))
    case.json("resume", case.run_id).expect(3)
    case.json("cancel", case.run_id).expect(0)
    plan = case.json("reconcile", case.run_id, "--plan").expect(0)
    assert plan.at("/data/canResume") is False
    named = ("effects", "reconcile", case.run_id, "ask/1.0")
    told = case.cli(*named, "--status", "not-applied", "--reason", "no trace").expect(0)
    assert "start a new run" in told.stdout
