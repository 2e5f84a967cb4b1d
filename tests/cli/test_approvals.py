"""Approvals as people give them: journeys of the real program, on a terminal and off it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, cast

import pytest

from tests.cli.harness import EXAMPLES, Result, run_cli, run_json
from tests.cli.terminal import CTRL_C, CTRL_D, talk

if TYPE_CHECKING:
    from pathlib import Path

    from agentctl.jsonvalue import JsonObject
    from tests.cli.terminal import Answer

CHOICE = "show the [f]ull request: "
WHY = "why? "


class Desk:
    """A folder with a workflow that asks, and its database."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def workflow(self, *tasks: JsonObject, **spec: Any) -> str:
        """Write a workflow whose writes wait for a person; return its file."""
        policy = {"approval": "mutations", "writableRoots": ["artifacts"]}
        body = {
            "apiVersion": "agentctl.dev/v1",
            "kind": "Workflow",
            "metadata": {"name": "asking"},
            "spec": {
                "policy": {**policy, **spec.pop("policy", {})},
                "actions": {"write": {"kind": "builtin.write"}},
                "tasks": list(tasks or (write("approved"),)),
                **spec,
            },
        }
        (self.folder / "asking.yaml").write_text(json.dumps(body), encoding="utf-8")
        return "asking.yaml"

    def json(self, *args: str) -> Result:
        """Run the program for programs."""
        return run_json(*args, "--db", "state.db", cwd=self.folder)

    def cli(self, *args: str) -> Result:
        """Run the program for people who have no terminal."""
        return run_cli(*args, "--db", "state.db", cwd=self.folder)

    def talk(self, *args: str, answers: list[tuple[str, Answer]]) -> tuple[int, str]:
        """Run the program on a terminal."""
        return talk(self.folder, *args, "--db", "state.db", answers=answers)

    def parked(self, file: str | None = None) -> str:
        """Run up to the question; return the run's id."""
        ran = self.json("run", file or self.workflow()).expect(3)
        assert ran.at("/data/state") == "paused"
        return ran.text("/data/runId")

    def questions(self, run_id: str, *more: str) -> list[JsonObject]:
        """Return the questions of a run."""
        return self.json("approvals", "list", run_id, *more).expect(0).items("/data")

    def question(self, run_id: str) -> str:
        """Return the id of the one open question of a run."""
        (asked,) = self.questions(run_id)
        return cast("str", asked["approvalId"])

    def decide(self, run_id: str, verb: str, reason: str = "seen") -> Result:
        """Answer the one open question of a run."""
        return self.json("approvals", verb, self.question(run_id), "--reason", reason)

    def written(self, name: str = "approved") -> str | None:
        """Return what was written, or None."""
        path = self.folder / "artifacts" / f"{name}.txt"
        return path.read_text(encoding="utf-8") if path.exists() else None

    def run_id(self) -> str:
        """Return the id of the only run."""
        (run,) = self.json("runs").expect(0).items("/data")
        return cast("str", run["runId"])


def write(name: str, *needs: str, **more: Any) -> JsonObject:
    """Return a task that writes its own name."""
    given = {"path": f"artifacts/{name}.txt", "content": f"{name}\n"}
    return {"id": name, "uses": "action:write", "needs": list(needs), "with": given, **more}


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """Return a fresh folder."""
    return Desk(tmp_path)


def test_a08_a_denied_write_stops_the_run_and_writes_nothing(desk: Desk) -> None:
    file = EXAMPLES / "v1" / "policy-denial.yaml"
    ran = desk.json("run", str(file), "--workspace", str(desk.folder)).expect(4)
    assert "policy.toolsDeny denies filesystem.write" in json.dumps(ran.document)
    assert desk.written("denied") is None


def test_a09_a_run_pauses_durably_off_a_terminal(desk: Desk) -> None:
    run_id = desk.parked()
    (asked,) = desk.questions(run_id)
    assert isinstance(asked["approvalId"], str)
    assert (asked["state"], asked["taskId"]) == ("pending", "approved")
    assert desk.written() is None


def test_a10_an_approved_effect_runs_once(desk: Desk) -> None:
    run_id = desk.parked()
    decided = desk.decide(run_id, "approve").expect(0)
    assert decided.at("/data/state") == "approved"
    assert desk.written() is None
    assert desk.json("resume", run_id).expect(0).at("/data/state") == "succeeded"
    assert desk.written() == "approved\n"
    (effect,) = desk.json("effects", "list", run_id).expect(0).items("/data")
    assert effect["status"] == "succeeded"
    desk.json("resume", run_id).expect(3)
    desk.json("verify", run_id).expect(0)


def test_a11_a_rejection_makes_the_resume_fail(desk: Desk) -> None:
    run_id = desk.parked()
    desk.decide(run_id, "reject", "not on a Friday").expect(0)
    resumed = desk.json("resume", run_id).expect(4)
    assert resumed.at("/data/state") == "failed"
    assert resumed.at("/data/runId") == run_id
    assert "not on a Friday" in json.dumps(resumed.document)
    assert desk.written() is None


@pytest.mark.parametrize("on_a_terminal", [False, True])
def test_a12_a_finished_model_effect_is_not_repeated_by_the_resume(
    desk: Desk, on_a_terminal: bool
) -> None:
    agent = {"provider": "scripted", "model": "m", "instructions": "Speak."}
    file = desk.workflow(
        {"id": "model", "uses": "agent:writer", "with": {"prompt": "go"}},
        write("confirmed", "model"),
        providers={"scripted": {"kind": "fake"}},
        agents={"writer": agent},
    )
    run_id = desk.parked(file)
    assert spoken(desk, run_id) == 1
    if on_a_terminal:
        code, shown = desk.talk("resume", run_id, "--interactive", answers=[(CHOICE, "a")])
        assert code == 0, shown
    else:
        desk.decide(run_id, "approve").expect(0)
        desk.json("resume", run_id).expect(0)
    assert spoken(desk, run_id) == 1
    assert desk.written("confirmed") == "confirmed\n"


def spoken(desk: Desk, run_id: str) -> int:
    """Return how many model effects a run has."""
    effects = desk.json("effects", "list", run_id).expect(0).items("/data")
    return sum("model." in json.dumps(one["request"]) for one in effects)


def test_a_dialogue_shows_the_change_asks_and_goes_on(desk: Desk) -> None:
    (desk.folder / "artifacts").mkdir()
    (desk.folder / "artifacts" / "approved.txt").write_text("old\n", encoding="utf-8")
    code, shown = desk.talk(
        *("run", desk.workflow(), "--interactive"),
        answers=[(CHOICE, "what"), (CHOICE, "f"), (CHOICE, "a")],
    )
    assert code == 0, shown
    assert "1 to decide; task approved wants: builtin.write" in shown
    assert "writes artifacts/approved.txt" in shown
    assert "-old" in shown
    assert "+approved" in shown
    assert "stored: approved by" in shown
    assert desk.written() == "approved\n"


def test_a_dialogue_asks_for_whatever_comes_up_next(desk: Desk) -> None:
    file = desk.workflow(write("first"), write("second"), write("third", "first"))
    answers: list[tuple[str, Answer]] = [(CHOICE, "a"), (CHOICE, "a"), (CHOICE, "a")]
    code, shown = desk.talk("run", file, "--interactive", answers=answers)
    assert code == 0, shown
    assert "2 to decide; task first" in shown
    assert "1 to decide; task third" in shown
    assert desk.written("third") == "third\n"


def test_a_rejection_in_the_dialogue_needs_a_reason_and_fails_the_run(desk: Desk) -> None:
    code, shown = desk.talk(
        *("run", desk.workflow(), "--interactive"),
        answers=[(CHOICE, "r"), (WHY, ""), (WHY, "too early")],
    )
    assert code == 4, shown
    (asked,) = desk.questions(desk.run_id(), "--all")
    assert (asked["state"], asked["reason"]) == ("rejected", "too early")
    assert desk.written() is None


@pytest.mark.parametrize("leaving", ["l", CTRL_C, CTRL_D], ids=["later", "ctrl-c", "ctrl-d"])
def test_a_dialogue_that_is_left_leaves_the_question_open(
    desk: Desk, leaving: str | bytes
) -> None:
    code, shown = desk.talk("run", desk.workflow(), "--interactive", answers=[(CHOICE, leaving)])
    assert code == 3, shown
    run_id = desk.run_id()
    assert desk.written() is None
    desk.decide(run_id, "approve").expect(0)
    desk.json("resume", run_id).expect(0)


def test_what_is_left_for_later_does_not_hold_up_what_was_approved(desk: Desk) -> None:
    file = desk.workflow(write("first"), write("second"))
    code, shown = desk.talk("run", file, "--interactive", answers=[(CHOICE, "l"), (CHOICE, "a")])
    assert code == 3, shown
    assert (desk.written("first"), desk.written("second")) == (None, "second\n")


def test_an_answer_that_comes_too_late_in_a_dialogue_is_told(desk: Desk) -> None:
    def answer_elsewhere_first() -> str:
        desk.decide(desk.run_id(), "reject", "I was first").expect(0)
        return "a"

    code, shown = desk.talk(
        *("run", desk.workflow(), "--interactive"), answers=[(CHOICE, answer_elsewhere_first)]
    )
    assert code == 4, shown
    assert "not stored" in shown
    assert "I was first" in shown
    assert desk.written() is None


@pytest.mark.parametrize("mode", ["deny_approval", "fail"])
def test_a_dialogue_asks_where_the_policy_would_deny_off_a_terminal(desk: Desk, mode: str) -> None:
    file = desk.workflow(policy={"nonInteractive": mode})
    desk.json("run", file).expect(4)
    code, shown = desk.talk("run", file, "--interactive", answers=[(CHOICE, "a")])
    assert code == 0, shown
    assert desk.written() == "approved\n"


def test_off_a_terminal_interactive_pauses_and_says_why(desk: Desk) -> None:
    ran = desk.cli("run", desk.workflow(), "--interactive").expect(3)
    assert "there is no terminal to ask on" in ran.stderr
    assert "shows what it asks, and how to answer" in ran.stdout + ran.stderr
    assert desk.written() is None


def test_questions_of_every_run_are_listed_without_a_run(desk: Desk) -> None:
    file = desk.workflow()
    runs = [desk.parked(file), desk.parked(file)]
    listed = desk.json("approvals", "list").expect(0).items("/data")
    assert sorted(cast("str", one["runId"]) for one in listed) == sorted(runs)
    desk.decide(runs[0], "approve").expect(0)
    left = desk.json("approvals", "list").expect(0).items("/data")
    assert [one["runId"] for one in left] == [runs[1]]
    assert len(desk.json("approvals", "list", "--all").expect(0).items("/data")) == 2
    told = desk.cli("approvals", "list").expect(0).stdout
    assert runs[1] in told
    assert "builtin.write (workspace_mutate, risk medium)" in told


def test_where_nothing_waits_the_list_says_so(desk: Desk) -> None:
    run_id = desk.parked()
    desk.decide(run_id, "approve").expect(0)
    assert "nothing waits" in desk.cli("approvals", "list").expect(0).stdout
    assert "nothing waits" in desk.cli("approvals", "list", run_id).expect(0).stdout


def test_a_question_is_inspected_with_all_that_is_asked(desk: Desk) -> None:
    run_id = desk.parked(desk.workflow(policy={"approvalExpiresSeconds": 3600}))
    asked = desk.question(run_id)
    shown = desk.json("approvals", "inspect", asked).expect(0)
    assert shown.at("/data/runId") == run_id
    assert shown.at("/data/isIntact") is True
    assert shown.at("/data/isOverdue") is False
    assert 0 < cast("float", shown.at("/data/expiresInSeconds")) <= 3600
    assert shown.at("/data/request/input/content") == "approved\n"
    assert "+approved" in shown.text("/data/change/diff")
    desk.decide(run_id, "approve", "seen twice").expect(0)
    told = desk.cli("approvals", "inspect", asked).expect(0).stdout
    assert "expires" in told
    assert "seen twice" in told
    assert "artifacts/approved.txt" in told


def test_an_answer_names_its_actor_and_is_never_taken_back(desk: Desk) -> None:
    asked = desk.question(desk.parked())
    given = ("approve", asked, "--actor", "ada", "--reason", "seen")
    assert desk.json("approvals", *given).expect(0).at("/data/actor") == "ada"
    refused = desk.cli("approvals", "reject", asked, "--reason", "no").expect(3)
    assert "approved by ada" in refused.stderr


def test_an_unknown_question_is_named_with_where_to_look(desk: Desk) -> None:
    desk.parked()
    for verb in ("approve", "reject", "inspect"):
        refused = desk.cli("approvals", verb, "ap-nothing").expect(2)
        assert "ap-nothing" in refused.stderr
        assert "agentctl approvals list" in refused.stderr
