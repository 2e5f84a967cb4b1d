"""Shows agentctl at work, kills it half-way, and checks everything it claims.

Run by `make run`; needs only the standard library and an installed agentctl. All state is kept
in `.demo`, which is made afresh. The exit code is 1 when a claim does not hold.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
STATE = ROOT / ".demo"
DATABASE = ".demo/runtime.db"
PROGRAM = [sys.executable, "-m", "agentctl", "--db", DATABASE]
LINES_MAX = 14
WIDTH = 118
ID_LENGTH = 36
WAIT_SECONDS = 20


class BrokenClaimError(Exception):
    """Something is not as the demo says."""


def main() -> int:
    """Tell the story; return 1 when a claim does not hold."""
    shutil.rmtree(STATE, ignore_errors=True)
    STATE.mkdir()
    try:
        first_steps()
        clean_crash()
        crash_in_a_call()
        last_look()
    except BrokenClaimError as broken:
        print(f"\nNOT AS CLAIMED: {broken}")
        return 1
    print("\nEverything was as claimed. The files are in .demo, the workflows in examples.")
    return 0


def first_steps() -> None:
    """Compile, plan, run and inspect a workflow."""
    title("1. A workflow is compiled before anything happens")
    say("examples/release.yaml gathers evidence in parallel, asks an agent, and acts on it.")
    run("check", "examples/release.yaml")
    run("plan", "examples/release.yaml")

    title("2. Run it, and look at what was kept")
    say("The agent is scripted: no key and no network are needed.")
    run("run", "examples/release.yaml", "--workspace", ".demo")
    note = STATE / "out" / "stable-2.4.0.txt"
    claim(note.is_file(), "the release note was written below the writable root, .demo/out")
    run("inspect", latest("release"), lines=36)


def clean_crash() -> None:
    """Kill a run that waits for a retry, and resume it."""
    title("3. Kill a run while it waits, and resume it")
    say("Two files are written; then an agent fails once and waits for its second attempt.")
    process, run_id = kill_at("examples/crash.yaml", "task.schedule_retry")
    claim(process.returncode != 0, "the process is dead (kill -9), in the middle of its work")
    run("runs", "--stuck")
    before = effects(run_id)
    run("resume", run_id)
    after = effects(run_id)
    claim(state(run_id) == "succeeded", "the run went on to its end")
    claim(
        all(after[key] == dispatches for key, dispatches in before.items()),
        "what was done before the crash was not done again",
    )
    claim(
        set(after.values()) == {1},
        f"each of the {len(after)} effects was dispatched exactly once",
    )


def crash_in_a_call() -> None:
    """Kill a run inside a model call, which nobody can say the outcome of."""
    title("4. Kill a run inside a model call")
    say("Was the model asked? After a crash nobody knows, so nothing asks it again.")
    _, run_id = kill_at("examples/uncertain.yaml", "effect.start", task="ask")
    run("resume", run_id, expect=3)
    claim(state(run_id) == "paused", "the run is paused, not failed and not repeated")
    claim(set(effects(run_id).values()) == {1}, "the model was asked once")
    claim(not (STATE / "out" / "after.txt").exists(), "nothing that depends on the answer ran")
    run("inspect", run_id, lines=24)


def last_look() -> None:
    """Replay every journal."""
    title("5. Verify every journal")
    say("The digest chain, every move against its machine, every record against its last move.")
    run("verify", "--all")


def title(text: str) -> None:
    """Print a heading."""
    print(f"\n{text}\n{'─' * len(text)}")


def say(text: str) -> None:
    """Print a line of the story."""
    print(text)


def claim(holds: bool, text: str) -> None:
    """Print a claim, or raise BrokenClaimError when it does not hold."""
    if not holds:
        raise BrokenClaimError(text)
    print(f"  ✓ {text}")


def run(*arguments: str, expect: int = 0, lines: int = LINES_MAX) -> None:
    """Run a command as a reader would, and show it with what it says."""
    shown = " ".join(one[:13] + "…" if len(one) == ID_LENGTH else one for one in arguments)
    print(f"\n  $ agentctl {shown}")
    ended = subprocess.run(
        [*PROGRAM, *arguments], cwd=ROOT, capture_output=True, text=True, check=False, timeout=60
    )
    show(ended.stdout if ended.stdout.strip() else ended.stderr, lines)
    if ended.returncode != expect:
        print(ended.stderr)
        raise BrokenClaimError(f"exit code {expect}, not {ended.returncode}")


def show(text: str, limit: int) -> None:
    """Print the first lines of an output, indented."""
    lines = text.strip().splitlines()
    for line in lines[:limit]:
        short = line if len(line) <= WIDTH else line[:WIDTH] + "…"
        print(f"    {short}".rstrip())
    if len(lines) > limit:
        print(f"    … and {len(lines) - limit} more lines")


def kill_at(
    workflow: str, event: str, *, task: str | None = None
) -> tuple[subprocess.Popen[str], str]:
    """Run a workflow and kill its process when an event was stored; return it and the run id."""
    print(f"\n  $ agentctl --output jsonl run {workflow} --workspace .demo &")
    arguments = ["--output", "jsonl", "run", workflow, "--workspace", ".demo"]
    process = subprocess.Popen(
        [*PROGRAM, *arguments],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdout is not None
    for line in process.stdout:
        data = json.loads(line)["data"]
        if data.get("eventType") == event and task in (None, data["taskId"]):
            process.kill()
            process.wait(WAIT_SECONDS)
            process.stdout.close()
            print(f"  $ kill -9 {process.pid}          (after {event} of {data['taskId']})")
            return process, data["runId"]
    process.wait(WAIT_SECONDS)
    raise BrokenClaimError(f"{workflow} ended without {event}")


def read(*arguments: str) -> Any:
    """Return the data of a command's JSON output."""
    ended = subprocess.run(
        [*PROGRAM, "--output", "json", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return json.loads(ended.stdout)["data"]


def latest(workflow: str) -> str:
    """Return the id of a workflow's last run."""
    return str(read("runs", "--workflow", workflow, "--limit", "1")[0]["runId"])


def state(run_id: str) -> str:
    """Return the state of a run."""
    return str(read("inspect", run_id)["run"]["state"])


def effects(run_id: str) -> dict[str, int]:
    """Return how often each effect of a run was dispatched."""
    return {one["request"]["id"]: one["dispatches"] for one in read("inspect", run_id)["effects"]}


if __name__ == "__main__":
    sys.exit(main())
