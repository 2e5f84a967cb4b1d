"""Workflows whose agents are agent files, through the real program."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any, cast

import pytest
import yaml
from attr import frozen

from tests.cli.harness import ROOT, Result, run_json

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from agentctl.jsonvalue import JsonObject

EXAMPLE = ROOT / "examples" / "review.yaml"
AGENT = ROOT / "examples" / ".claude" / "agents" / "reviewer.md"


@frozen
class Desk:
    """A copy of the example with its agent file, a note to read, and a database."""

    folder: Path

    @property
    def workflow(self) -> Path:
        """The workflow."""
        return self.folder / "review.yaml"

    @property
    def agent(self) -> Path:
        """The agent file."""
        return self.folder / ".claude" / "agents" / "reviewer.md"

    def edit_agent(self, old: str, new: str) -> None:
        """Change the agent file as an editor does."""
        text = self.agent.read_text(encoding="utf-8")
        assert old in text
        self.agent.write_text(text.replace(old, new), encoding="utf-8")

    def edit_workflow(self, change: Callable[[dict[str, Any]], None]) -> None:
        """Change the workflow's spec."""
        document = yaml.safe_load(self.workflow.read_text(encoding="utf-8"))
        change(document["spec"])
        self.workflow.write_text(yaml.safe_dump(document), encoding="utf-8")

    def run(self) -> Result:
        """Run the workflow."""
        return run_json(
            "run", str(self.workflow), "--workspace", str(self.folder), *self.db, cwd=self.folder
        )

    def on(self, *words: str) -> Result:
        """Run a command on the database, from another folder."""
        return run_json(*words, *self.db, cwd=self.folder.parent)

    @property
    def db(self) -> tuple[str, str]:
        """The option that names the database."""
        return "--db", str(self.folder / "run.db")

    def paused_and_approved(self) -> str:
        """Return a run that has only to be resumed."""
        run_id = self.run().expect(3).text("/data/runId")
        (asked,) = self.on("inspect", run_id).expect(0).items("/data/approvals")
        self.on("approvals", "approve", str(asked["approvalId"]), "--reason", "read").expect(0)
        return run_id

    def effects(self, run_id: str) -> list[object]:
        """Return the operation and state of every effect of a run."""
        found = self.on("inspect", run_id).expect(0).items("/data/effects")
        return [(cast("JsonObject", one["request"])["operation"], one["status"]) for one in found]


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """Return a fresh copy."""
    made = Desk(tmp_path / "desk")
    made.agent.parent.mkdir(parents=True)
    shutil.copy(EXAMPLE, made.workflow)
    shutil.copy(AGENT, made.agent)
    (made.folder / "notes.txt").write_text("All tests pass.\n", encoding="utf-8")
    return made


def test_a_workflow_runs_with_a_subagent_file_as_its_agent(desk: Desk) -> None:
    run_id = desk.paused_and_approved()
    desk.on("resume", run_id).expect(0)
    verdict = (desk.folder / "out" / "verdict.txt").read_text(encoding="utf-8")
    assert verdict == "Ship it: all tests pass."
    assert desk.effects(run_id) == [
        ("model.fake", "succeeded"),
        ("builtin.workspace.read", "succeeded"),
        ("model.fake", "succeeded"),
        ("builtin.write", "succeeded"),
    ]


def test_a_file_that_grants_more_by_now_stops_the_resumed_run(desk: Desk) -> None:
    run_id = desk.paused_and_approved()
    before = desk.on("inspect", run_id).expect(0).document["data"]
    desk.edit_agent("tools: Read, Grep", "tools: Read, Grep, Bash")
    stopped = desk.on("resume", run_id).expect(3)
    assert stopped.text("/error/code") == "agent_file_changed"
    assert stopped.text("/error/message") == (
        f"the agent files of run {run_id} changed since it was started. "
        ".claude/agents/reviewer.md (agent 'reviewer'): it adds Bash (execute) at 4:20."
    )
    assert f"agentctl cancel {run_id}" in stopped.text("/error/help")
    assert desk.on("inspect", run_id).expect(0).document["data"] == before
    assert not (desk.folder / "out").exists()


def test_a_file_that_is_put_back_lets_the_run_go_on(desk: Desk) -> None:
    run_id = desk.paused_and_approved()
    desk.edit_agent("Grep", "Grep, Bash")
    desk.on("resume", run_id).expect(3)
    desk.edit_agent("Grep, Bash", "Grep")
    desk.on("resume", run_id).expect(0)


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("Read, Grep", "Read", "it drops Grep (search), which stood at 4:14."),
        ("Read, Grep", "Grep, Task", "it adds Task (agent) at 4:14; it drops Read (read), which"),
        ("tools: Read, Grep\n", "", "its grant was listed and is inherits; it drops Read"),
        ("tools: Read, Grep\n", "tools: [Read\n", "its grant was listed and is unreadable;"),
        ("model: inherit", "disallowedTools: Bash", "it denies Bash at 5:18; its model was"),
        ("model: inherit", "model: opus", "its model was inherit and is opus."),
        ("model: inherit", "model: inherit\npermissionMode: plan", "permission:plan"),
        ("You change nothing", "You change all", "its instructions changed."),
        ("Reads a change", "Sees a change", "beside its grants, instructions and model."),
    ],
)
def test_what_changed_is_told(desk: Desk, old: str, new: str, told: str) -> None:
    run_id = desk.paused_and_approved()
    desk.edit_agent(old, new)
    assert told in desk.on("resume", run_id).expect(3).text("/error/message")
    assert not (desk.folder / "out").exists()


def test_a_file_that_is_gone_stops_the_resumed_run(desk: Desk) -> None:
    run_id = desk.paused_and_approved()
    desk.agent.unlink()
    message = desk.on("resume", run_id).expect(3).text("/error/message")
    assert "it cannot be read any more" in message


def test_a_file_that_a_link_replaced_stops_the_resumed_run(desk: Desk) -> None:
    run_id = desk.paused_and_approved()
    elsewhere = desk.folder / "same.md"
    desk.agent.rename(elsewhere)
    desk.agent.symlink_to(elsewhere)
    message = desk.on("resume", run_id).expect(3).text("/error/message")
    assert "it cannot be read any more" in message


def test_a_stopped_run_can_be_cancelled(desk: Desk) -> None:
    run_id = desk.paused_and_approved()
    desk.edit_agent("Grep", "Grep, Bash")
    desk.on("cancel", run_id, "--reason", "the agent changed").expect(0)
    stopped = desk.on("resume", run_id).expect(3)
    assert stopped.text("/error/code") == "not_now"


def widened(spec: dict[str, Any]) -> None:
    """List a tool that writes, and let the model ask for it."""
    look = spec["tools"]["look"]
    spec["tools"]["save"] = {
        **look,
        "kind": "builtin.workspace.write",
        "capability": "filesystem.write",
        "effectClass": "workspace_mutate",
        "approval": "never",
    }
    spec["tools"]["save"] |= {"inputSchema": {"type": "object"}, "outputSchema": {}}
    reviewer = spec["agents"]["reviewer"]
    reviewer["tools"] = ["look", "save"]
    reviewer["providerOptions"] |= {
        "toolName": "save",
        "toolInput": {"path": "out/x.txt", "content": "x"},
    }


def test_a_listed_tool_that_the_file_does_not_grant_is_refused_in_the_run(desk: Desk) -> None:
    desk.edit_workflow(widened)
    failed = desk.run().expect(4)
    assert failed.text("/error/code") == "tool_denied"
    effects = desk.effects(failed.text("/error/runId"))
    assert effects == [("model.fake", "succeeded")]
    assert not (desk.folder / "out").exists()


def test_the_same_tool_is_given_once_the_file_grants_it(desk: Desk) -> None:
    desk.edit_workflow(widened)
    desk.edit_agent("Read, Grep", "Read, Edit, Write")
    run_id = desk.run().expect(3).text("/data/runId")
    assert ("builtin.workspace.write", "succeeded") in desk.effects(run_id)
    assert (desk.folder / "out" / "x.txt").read_text(encoding="utf-8") == "x"


def test_a_tool_that_the_workflow_does_not_list_is_refused_though_the_file_grants_it(
    desk: Desk,
) -> None:
    def unlisted(spec: dict[str, Any]) -> None:
        widened(spec)
        spec["agents"]["reviewer"]["tools"] = ["look"]

    desk.edit_workflow(unlisted)
    desk.edit_agent("Read, Grep", "Read, Edit, Write")
    assert desk.run().expect(4).text("/error/code") == "tool_denied"


def test_check_warns_of_a_tool_that_the_file_does_not_grant(desk: Desk) -> None:
    desk.edit_workflow(widened)
    checked = run_json("check", str(desk.workflow), cwd=desk.folder).expect(0)
    (told,) = checked.items("/data/warnings")
    assert told["code"] == "tool_not_granted"
    assert told["path"] == "spec.agents.reviewer.tools[1]"
    assert "Read (4:8), Grep (4:14)" in str(told["message"])
