"""Acceptance journeys of this slice, as a user walks them: the real program, file by file."""

from __future__ import annotations

import json
import shutil
import signal
from typing import TYPE_CHECKING, cast

import pytest
import yaml

from tests.cli.harness import EXAMPLES, SHARED, Result, finish, run_cli, run_json, start_cli

if TYPE_CHECKING:
    from pathlib import Path

    from agentctl.jsonvalue import JsonObject

V1 = EXAMPLES / "v1"
ROOT = EXAMPLES.parent


class Desk:
    """A fresh folder with a database, and the commands a journey needs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.db = folder / "runtime.db"

    def file(self, name: str, body: JsonObject) -> Path:
        """Write a workflow."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(body), encoding="utf-8")
        return path

    def run(self, file: Path, *more: str, workspace: Path | None = None) -> Result:
        """Run a workflow in a workspace, by default this folder."""
        where = str(workspace or self.folder)
        return run_json("run", str(file), "--workspace", where, "--db", str(self.db), *more)

    def on(self, command: str, run_id: str, *more: str) -> Result:
        """Run a command on a stored run."""
        return run_json(command, run_id, "--db", str(self.db), *more)

    def inspect(self, run_id: str) -> Result:
        """Inspect a run."""
        return self.on("inspect", run_id).expect(0)


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """Return a fresh folder."""
    return Desk(tmp_path)


def workflow(spec: JsonObject) -> JsonObject:
    """Return a workflow document around a spec."""
    return {
        "apiVersion": "agentctl.dev/v1",
        "kind": "Workflow",
        "metadata": {"name": "journey"},
        "spec": spec,
    }


def fake_agent(**more: object) -> JsonObject:
    """Return a spec with one task of one fake agent."""
    agent = {"provider": "fake", "model": "m", "instructions": "answer", **more}
    return cast(
        "JsonObject",
        {
            "providers": {"fake": {"kind": "fake"}},
            "agents": {"writer": agent},
            "tasks": [{"id": "write", "uses": "agent:writer", "with": {"prompt": "go"}}],
        },
    )


def test_a01_hello_checks_plans_and_runs(desk: Desk) -> None:
    hello = V1 / "hello.yaml"
    checked = run_json("check", str(hello)).expect(0)
    assert checked.at("/kind") == "CheckResult"
    assert checked.at("/data/valid") is True
    assert len(run_json("plan", str(hello)).expect(0).text("/data/planDigest")) == 64
    ran = desk.run(hello, workspace=ROOT).expect(0)
    assert ran.at("/data/output/greeting") == "hello, world"
    assert ran.at("/data/state") == "succeeded"


def test_a02_invalid_yaml_gives_located_diagnostics(tmp_path: Path) -> None:
    file = tmp_path / "invalid.yaml"
    file.write_text("apiVersion: [agentctl.dev/v1\nkind: Workflow\n", encoding="utf-8")
    shown = run_json("check", str(file)).expect(2)
    first = shown.items("/diagnostics")[0]
    assert first["code"] == "yaml_syntax"
    assert first["line"] is not None
    human = run_cli("check", str(file), "--color", "never").expect(2)
    assert human.stderr.startswith(f"{file}:")
    assert "error[yaml_syntax]" in human.stderr


def test_a03_missing_references_and_capabilities_fail_the_check(desk: Desk) -> None:
    body = workflow({"tasks": [{"id": "one", "uses": "action:not_declared"}]})
    missing = run_json("check", str(desk.file("missing.json", body))).expect(2)
    assert missing.items("/diagnostics")[0]["code"] == "missing_reference"
    run_json("check", str(V1 / "capability-failure.yaml")).expect(2)


def test_a05_the_fake_provider_runs(desk: Desk) -> None:
    desk.run(V1 / "fake-provider.yaml", workspace=ROOT).expect(0)


def test_a15_a_provider_timeout_is_uncertain_and_blocks_the_resume(desk: Desk) -> None:
    spec = fake_agent(timeoutSeconds=1, providerOptions={"delayMs": 2500, "finalText": "late"})
    ran = desk.run(desk.file("timeout.json", workflow(spec))).expect(4)
    run_id = ran.text("/error/runId")
    assert ran.text("/error/traceId")
    assert desk.inspect(run_id).at("/data/effects/0/status") == "uncertain"
    resumed = desk.on("resume", run_id).expect(3)
    assert resumed.at("/error/runId") == run_id
    assert resumed.at("/error/traceId") == ran.at("/error/traceId")


def test_a17_a_missing_credential_fails_before_any_state(desk: Desk) -> None:
    spec = fake_agent()
    spec["providers"] = {"fake": {"kind": "openai", "credential": {"env": "OPENAI_API_KEY"}}}
    spec["policy"] = {
        "environmentAllowlist": ["OPENAI_API_KEY"],
        "networkAllowlist": ["api.openai.com"],
    }
    ran = desk.run(desk.file("missing-auth.json", workflow(spec))).expect(6)
    assert ran.at("/error/exitCode") == 6
    assert "OPENAI_API_KEY" in ran.text("/error/message")
    assert not desk.db.exists()


def test_a19_an_input_file_is_overridden_by_single_inputs(desk: Desk) -> None:
    spec: JsonObject = {
        "inputs": {"name": "default", "count": 1},
        "outputs": {"name": "${{ inputs.name }}", "count": "${{ inputs.count }}"},
        "actions": {"assign": {"kind": "builtin.assign"}},
        "tasks": [{"id": "one", "uses": "action:assign", "with": {"x": 1}}],
    }
    given = desk.folder / "inputs.json"
    given.write_text('{"name":"file","count":2}', encoding="utf-8")
    file = desk.file("inputs.json.workflow", workflow(spec))
    ran = desk.run(file, "--inputs-file", str(given), "--input", "count=3").expect(0)
    assert ran.at("/data/output") == {"name": "file", "count": 3}


def test_a21_two_runs_share_one_database(desk: Desk) -> None:
    run_json("db", "--db", str(desk.db), "migrate").expect(0)
    args = ("run", str(V1 / "hello.yaml"), "--workspace", str(ROOT), "--db", str(desk.db))
    both = [start_cli(*args, "--output", "json") for _ in range(2)]
    for one in both:
        finish(one, *args).expect(0)
    assert len(run_json("runs", "--db", str(desk.db)).items("/data")) == 2


def test_a22_a_sigterm_gives_a_durable_cancelled_run(desk: Desk) -> None:
    spec = fake_agent(providerOptions={"delayMs": 30_000, "finalText": "late"})
    file = desk.file("long.json", workflow(spec))
    args = ("run", str(file), "--workspace", str(desk.folder), "--db", str(desk.db))
    started = start_cli(*args, "--output", "jsonl")
    assert started.stdout is not None
    for line in started.stdout:
        if '"effect.start"' in line:
            break
    started.send_signal(signal.SIGTERM)
    ended = finish(started, *args).expect(130)
    last = ended.lines[-1]
    assert last["kind"] == "RunOutcome"
    data = cast("JsonObject", last["data"])
    assert data["state"] == "cancelled"
    assert desk.inspect(cast("str", data["runId"])).at("/data/run/state") == "cancelled"


def test_a23_the_program_works_outside_of_any_project(desk: Desk) -> None:
    empty = desk.folder / "empty"
    empty.mkdir()
    file = desk.file("workflow.json", workflow(fake_agent()))
    for arguments in (["--help"], ["completion", "zsh"]):
        assert run_cli(*arguments, cwd=empty).expect(0).stdout.strip()
    for arguments in (["version"], ["schema"], ["providers", "inspect", str(file)]):
        assert run_json(*arguments, cwd=empty).expect(0).document
    assert list(empty.iterdir()) == []


def test_a24_a_run_needs_neither_environment_nor_terminal(desk: Desk) -> None:
    desk.run(V1 / "hello.yaml", workspace=ROOT).expect(0)


def test_a33_a_parallel_batch_merges_memory_and_replays(desk: Desk) -> None:
    file = V1 / "parallel.yaml"
    plan = run_json("plan", str(file)).expect(0)
    assert plan.at("/data/maxConcurrency") == 2
    assert plan.at("/data/tasks/write-left/memoryWrites/0") == "left"
    assert plan.at("/data/tasks/write-right/memoryWrites/0") == "right"
    run_id = desk.run(file, workspace=ROOT).expect(0).text("/data/runId")
    assert desk.inspect(run_id).at("/data/run/workingMemory/left") == "one"
    assert desk.inspect(run_id).at("/data/run/workingMemory/right") == "two"
    _replays_without_effects(desk, run_id)


def test_a34_a_matrix_is_expanded_and_gathered(desk: Desk) -> None:
    file = V1 / "matrix.yaml"
    plan = run_json("plan", str(file)).expect(0)
    children = cast("list[str]", plan.at("/data/tasks/verify/uses/name"))
    assert len(children) == 4
    assert children[0].startswith("verify--0000-")
    assert plan.at(f"/data/tasks/{children[0]}/expansion/parent") == "verify"
    ran = desk.run(file, workspace=ROOT).expect(0)
    assert ran.at("/data/output/results/0/output/output/platform") == "linux"
    assert ran.at("/data/output/results/3/output/output/profile") == "release"
    run_id = ran.text("/data/runId")
    assert len(desk.inspect(run_id).items("/data/tasks")) == 5
    _replays_without_effects(desk, run_id)


def test_a35_a_router_selects_and_says_why_others_were_skipped(desk: Desk) -> None:
    file = V1 / "router.yaml"
    plan = run_json("plan", str(file)).expect(0)
    assert plan.at("/data/tasks/route/uses/kind") == "router"
    assert plan.at("/data/tasks/ship/routeGuards/0/router") == "route"
    ran = desk.run(file, workspace=ROOT).expect(0)
    assert ran.at("/data/output/selected") == "ship"
    assert ran.at("/data/output/ship/output/result") == "shipped"
    assert ran.at("/data/output/hold/reason") == "route not selected"
    run_id = ran.text("/data/runId")
    assert desk.inspect(run_id).at("/data/tasks/3/output/route/router") == "route"
    _replays_without_effects(desk, run_id)


def test_a37_a_subworkflow_has_typed_boundaries(desk: Desk) -> None:
    file = V1 / "subworkflow.yaml"
    plan = run_json("plan", str(file)).expect(0)
    assert plan.at("/data/tasks/summary/uses/kind") == "subworkflow_aggregate"
    assert plan.at("/data/tasks/summary/uses/name/version") == "1.0.0"
    names = cast("JsonObject", plan.at("/data/tasks"))
    assert any(name.startswith("summary--inputs-") for name in names)
    ran = desk.run(file, workspace=ROOT).expect(0)
    assert ran.at("/data/output/result") == "durable"
    run_id = ran.text("/data/runId")
    assert len(desk.inspect(run_id).items("/data/tasks")) == 4
    _replays_without_effects(desk, run_id)


def _replays_without_effects(desk: Desk, run_id: str) -> None:
    replayed = desk.on("replay", run_id).expect(0)
    assert replayed.at("/data/state") == "succeeded"
    assert replayed.at("/data/sourceRunId") == run_id
    assert desk.inspect(replayed.text("/data/runId")).at("/data/effects") == []


def test_a40_streams_are_lines_for_programs_and_notes_for_people(desk: Desk) -> None:
    file = V1 / "streaming.yaml"
    ran = desk.run(file, workspace=ROOT).expect(0)
    assert ran.at("/data/output/result") == "STREAM_COMPLETE"
    assert len(desk.inspect(ran.text("/data/runId")).items("/data/streamEvents")) >= 3
    args = ("--workspace", str(ROOT), "--db", str(desk.db), "--color", "never")
    streamed = run_cli("run", str(file), *args, "--output", "jsonl").expect(0)
    assert streamed.stderr == ""
    assert len(streamed.lines) >= 4
    assert {line["kind"] for line in streamed.lines[:-1]} == {"StreamEvent"}
    assert streamed.lines[-1]["kind"] == "RunOutcome"
    human = run_cli("run", str(file), *args).expect(0)
    assert "[stream stream]" in human.stderr


def test_a40_a_replay_streams_the_records_with_their_source(desk: Desk) -> None:
    run_id = desk.run(V1 / "streaming.yaml", workspace=ROOT).expect(0).text("/data/runId")
    args = ("replay", run_id, "--db", str(desk.db), "--output", "jsonl")
    replayed = run_cli(*args).expect(0)
    events = [cast("JsonObject", line["data"]) for line in replayed.lines[:-1]]
    assert events
    assert {event.get("sourceRunId") for event in events} == {run_id}


def test_compat_a_legacy_playbook_is_translated(desk: Desk) -> None:
    folder = EXAMPLES / "fixtures" / "compat" / "v0"
    expected = json.loads((folder / "assign.expected.json").read_text(encoding="utf-8"))
    file = folder / "assign.playbook.yaml"
    checked = run_json("check", str(file)).expect(0)
    assert checked.at("/data/migratedLegacy") is expected["migratedLegacy"]
    assert checked.at("/data/workflow") == expected["workflowName"]
    assert checked.items("/data/warnings")[0]["code"] == "migration_required"
    plan = run_json("plan", str(file)).expect(0)
    assert plan.at("/data/order") == expected["order"]
    assert plan.at("/data/tasks/copy/uses") == {"kind": "action", "name": "copy"}
    assert plan.at("/data/tasks/copy/needs") == []
    migrated = desk.folder / "migrated.yaml"
    run_json("migrate", str(file), "--write", str(migrated)).expect(0)
    assert run_json("check", str(migrated)).expect(0).at("/data/migratedLegacy") is False


def _sources(desk: Desk) -> Path:
    (desk.folder / "w").mkdir()
    for name, text in {
        "defaults.yaml": "winner: file\nobject: {old: true}\nnullable: old\n",
        "later.json": '{"winner": "later", "nullable": null}',
        "task.yaml": "winner: task-file\n",
    }.items():
        (desk.folder / "w" / name).write_text(text, encoding="utf-8")
    names = ("winner", "object", "nullable")
    task: JsonObject = {
        "id": "show",
        "uses": "action:assign",
        "varsFiles": ["task.yaml"],
        "vars": {"winner": "task"},
        "with": {name: f"${{{{ vars.{name} }}}}" for name in names},
    }
    spec: JsonObject = {
        "varsFiles": ["defaults.yaml", "later.json"],
        "vars": {"winner": "workflow", "object": {"inline": True}},
        "outputs": {name: f"${{{{ tasks.show.output.output.{name} }}}}" for name in names},
        "actions": {"assign": {"kind": "builtin.assign"}},
        "tasks": [task],
    }
    return desk.file("w/workflow.json", workflow(spec))


def test_sources_1_later_layers_win_and_a_replay_reads_no_file(desk: Desk) -> None:
    file = _sources(desk)
    args = ("--db", str(desk.db), "--var", 'winner="first"', "--var", 'winner="invocation"')
    elsewhere = desk.folder / "elsewhere"
    elsewhere.mkdir()
    ran = run_json("run", str(file), *args, cwd=elsewhere).expect(0)
    wanted = {"winner": "invocation", "object": {"inline": True}, "nullable": None}
    assert ran.at("/data/output") == wanted
    shutil.rmtree(file.parent)
    replayed = desk.on("replay", ran.text("/data/runId")).expect(0)
    assert replayed.at("/data/output") == wanted
    assert desk.inspect(replayed.text("/data/runId")).at("/data/effects") == []


def test_sources_1_explain_names_origins_and_never_a_value(desk: Desk) -> None:
    file = _sources(desk)
    for output in ("json", "human"):
        shown = run_cli(
            "explain", str(file), "--var", 'winner="PRIVATE"', "--output", output
        ).expect(0)
        assert "--var" in shown.stdout
        assert "spec.tasks.show.vars" in shown.stdout
        assert "spec.varsFiles[1]:later.json" in shown.stdout
        assert "PRIVATE" not in shown.stdout + shown.stderr


def test_sources_3_instructions_from_a_file_are_shown_as_a_digest(desk: Desk) -> None:
    spec = fake_agent(instructionsFile="missing.md")
    agents = cast("dict[str, JsonObject]", spec["agents"])
    del agents["writer"]["instructions"]
    file = desk.file("workflow.json", workflow(spec))
    assert "instructionsFile" in run_json("check", str(file)).expect(2).stdout
    (desk.folder / "missing.md").write_text("HIDDEN INSTRUCTIONS", encoding="utf-8")
    run_json("check", str(file)).expect(0)
    plan = run_json("plan", str(file)).expect(0)
    assert "instructionsDigest" in plan.stdout
    assert "HIDDEN INSTRUCTIONS" not in plan.stdout


def _matrix() -> list[tuple[str, int, int]]:
    listed = yaml.safe_load((SHARED / "spec" / "acceptance.yaml").read_text(encoding="utf-8"))
    rows = listed["example_matrix"]["rows"]
    return [
        (row["file"].removeprefix("examples/"), row["check_exit"], row["plan_exit"])
        for row in rows
        if "*" not in row["file"]
    ]


@pytest.mark.parametrize(("name", "check_exit", "plan_exit"), _matrix())
def test_every_example_checks_and_plans_as_listed(
    name: str, check_exit: int, plan_exit: int
) -> None:
    run_json("check", str(EXAMPLES / name)).expect(check_exit)
    run_json("plan", str(EXAMPLES / name)).expect(plan_exit)
