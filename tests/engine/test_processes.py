"""Programs as effects of a run: shell execution and extensions, by the ledger's rules."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, Any, cast

import pytest

from tests.engine.harness import task, workflow

if TYPE_CHECKING:
    from pathlib import Path

    from agentctl import RunOutcome
    from agentctl.engine.records import EffectRecord
    from tests.engine.harness import Bench

PYTHON = os.path.basename(sys.executable)
TEXT = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
EXTENSION = """
import json, os, sys
SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
PROTOCOL = "agentctl.dev/process-extension/v1"
if "--agentctl-handshake" in sys.argv:
    told = {"protocolVersion": PROTOCOL, "name": "shout", "inputSchema": SCHEMA,
            "outputSchema": SCHEMA, "capabilities": ["text"]}
    HANDSHAKE
    print(json.dumps(told))
else:
    request = json.load(sys.stdin)
    open("invoked", "a", encoding="utf-8").write(os.environ["AGENTCTL_IDEMPOTENCY_KEY"] + "\\n")
    answer = {"protocolVersion": PROTOCOL, "effectId": request["effectId"],
              "output": {"text": request["input"]["text"].upper()}}
    ANSWER
    print(json.dumps(answer))
"""


def shell(script: str, **action: Any) -> dict[str, Any]:
    """Return an action that runs a few lines of Python."""
    command = {"command": sys.executable, "args": ["-I", "-S", "-c", script]}
    return {"kind": "builtin.shell.exec", **command, **action}


def document(*tasks: dict[str, Any], **actions: dict[str, Any]) -> dict[str, Any]:
    """Return a workflow whose policy lists this Python."""
    policy = {
        "approval": "never",
        "processAllowlist": [PYTHON, "docker", "podman"],
        "environmentAllowlist": ["TOKEN"],
    }
    return workflow(*tasks, policy=policy, actions=actions)


def run_one(bench: Bench, action: dict[str, Any], **more: Any) -> RunOutcome:
    """Run a workflow of one task, `it`, with this action."""
    return bench.engine.start_sync(
        bench.engine.load(document(task("it", "action:act", **more), act=action))
    )


def effect_of(bench: Bench, outcome: RunOutcome) -> EffectRecord:
    """Return the one effect of a run."""
    (effect,) = bench.engine.store.load_run(outcome.run_id).effects
    return effect


def output_of(bench: Bench, outcome: RunOutcome) -> dict[str, Any]:
    """Return the output of the task `it`."""
    (done,) = bench.engine.store.load_run(outcome.run_id).tasks
    return cast("dict[str, Any]", done.output)


def error_of(bench: Bench, outcome: RunOutcome) -> dict[str, Any]:
    """Return the recorded error of the one effect of a run."""
    return cast("dict[str, Any]", effect_of(bench, outcome).error)


def test_a_program_gives_its_exit_code_and_what_it_printed(bench: Bench) -> None:
    outcome = run_one(bench, shell("import sys; print('ü'); print('e', file=sys.stderr)"))
    assert output_of(bench, outcome)["output"] == {
        "exitCode": 0,
        "stdout": "ü\n",
        "stderr": "e\n",
        "truncated": False,
    }


def test_templates_fill_the_arguments_and_a_task_may_replace_them(bench: Bench) -> None:
    script = "import sys; print(*sys.argv[1:], sep='|')"
    act = shell(script, args=["-I", "-c", script, "${{ vars.who }}", "${{ vars.count }}"])
    spec = document(task("it", "action:act"), act=act)
    spec["spec"]["vars"] = {"who": "a b; $(c)", "count": 3}
    assert (
        output_of(bench, bench.engine.start_sync(bench.engine.load(spec)))["output"]["stdout"]
        == "a b; $(c)|3\n"
    )
    other = run_one(bench, shell(script), with_={"args": ["-I", "-c", script, "x"]})
    assert output_of(bench, other)["output"]["stdout"] == "x\n"


def test_the_environment_holds_the_effect_and_nothing_else(bench: Bench) -> None:
    script = "import json; print(open('/proc/self/environ').read())"
    outcome = run_one(bench, shell(script))
    effect = effect_of(bench, outcome)
    shown = output_of(bench, outcome)["output"]["stdout"].strip("\0\n").split("\0")
    assert sorted(shown) == [
        f"AGENTCTL_EFFECT_ID={effect.id}",
        f"AGENTCTL_IDEMPOTENCY_KEY={effect.idempotency_key}",
    ]


def test_a_secret_reaches_the_program_and_no_record(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HIDDEN", "swordfish-77")
    script = "import os; print('it is', os.environ['TOKEN'])"
    outcome = run_one(bench, shell(script, env={"TOKEN": {"env": "HIDDEN"}}))
    assert output_of(bench, outcome)["output"]["stdout"] == "it is [REDACTED]\n"
    for file in bench.folder.rglob("state.db*"):
        assert b"swordfish" not in file.read_bytes()


def test_input_is_given_on_request(bench: Bench) -> None:
    script = "import sys; print(sys.stdin.read()[::-1])"
    outcome = run_one(bench, shell(script), with_={"stdin": "abc"})
    assert output_of(bench, outcome)["output"]["stdout"] == "cba\n"


def test_a_failed_program_is_a_definite_failure_with_all_it_said(bench: Bench) -> None:
    script = "import sys; print('half'); print('no such thing', file=sys.stderr); sys.exit(3)"
    error = error_of(bench, run_one(bench, shell(script)))
    assert error["code"] == "process_failed"
    assert error["message"].endswith("ended with exit code 3: no such thing")
    assert error["detail"] == {
        "exitCode": 3,
        "stdout": "half\n",
        "stderr": "no such thing\n",
        "truncated": False,
    }


def test_a_retry_runs_a_failed_program_again(bench: Bench) -> None:
    script = "import os, sys; sys.exit(0 if os.path.exists('x') else open('x', 'w') and 1)"
    outcome = run_one(bench, shell(script), retry={"maxAttempts": 2, "backoffMs": 0})
    assert outcome.state == "succeeded"


def test_a_program_that_a_signal_ended_leaves_doubt(bench: Bench) -> None:
    script = "import os; print('went', flush=True); os.kill(os.getpid(), 9)"
    outcome = run_one(bench, shell(script))
    assert effect_of(bench, outcome).state == "uncertain"
    error = error_of(bench, outcome)
    assert (error["code"], error["detail"]["stdout"]) == ("process_killed", "went\n")


def test_too_much_output_is_a_definite_failure_with_the_limits_name(bench: Bench) -> None:
    outcome = run_one(bench, shell("print('x' * 5000)", stdoutLimitBytes=100))
    error = error_of(bench, outcome)
    assert (error["code"], error["detail"]["limit"]) == ("output_too_large", "stdoutLimitBytes")
    assert error["detail"]["stdout"] == "x" * 100
    assert effect_of(bench, outcome).state == "failed"


def test_output_that_is_not_utf8_is_named_by_its_first_byte(bench: Bench) -> None:
    script = r"import sys; sys.stdout.buffer.write(b'ab\xff')"
    error = error_of(bench, run_one(bench, shell(script)))
    assert error["message"] == "the program's standard output is not UTF-8 (byte 2)"
    assert (error["code"], error["detail"]["exitCode"]) == ("not_utf8", 0)


def test_a_deadline_leaves_doubt_and_what_was_printed(bench: Bench) -> None:
    script = "import time; print('begun', flush=True); time.sleep(3600)"
    outcome = run_one(bench, shell(script), timeoutSeconds=1)
    effect = effect_of(bench, outcome)
    assert effect.state == "uncertain"
    error = error_of(bench, outcome)
    assert (error["code"], error["detail"]["stdout"]) == ("timeout", "begun\n")
    assert not os.path.exists(f"/proc/{error['detail']['pid']}")


@pytest.mark.parametrize(
    ("action", "code"),
    [
        ({"command": "/nowhere/" + PYTHON}, "process_missing"),
        ({"cwd": "no/folder"}, "file_missing"),
        ({"cwd": "../.."}, "path_refused"),
        ({"cwd": "link"}, "path_refused"),
    ],
)
def test_what_cannot_be_started_is_a_definite_failure(
    bench: Bench, action: dict[str, Any], code: str
) -> None:
    (bench.folder / "link").symlink_to("/")
    outcome = run_one(bench, shell("print()", **action))
    assert error_of(bench, outcome)["code"] == code


def test_a_program_that_a_template_names_is_held_against_the_policy(bench: Bench) -> None:
    act = shell("print()", command="${{ vars.program }}")
    spec = document(task("it", "action:act"), act=act)
    spec["spec"]["vars"] = {"program": "/bin/sh"}
    outcome = bench.engine.start_sync(bench.engine.load(spec))
    assert "does not list the program 'sh'" in str(outcome.error)
    assert bench.engine.store.load_run(outcome.run_id).effects == ()


def extension(folder: Path, handshake: str = "pass", answer: str = "pass") -> dict[str, Any]:
    """Write an extension program and return its action."""
    path = folder / "shout.py"
    text = EXTENSION.replace("HANDSHAKE", handshake).replace("ANSWER", answer)
    path.write_text(text, encoding="utf-8")
    return {
        "kind": "extension.process",
        "command": sys.executable,
        "args": ["-I", "-S", str(path)],
        "protocolVersion": "agentctl.dev/process-extension/v1",
        "inputSchema": TEXT,
        "outputSchema": TEXT,
        "capabilities": ["text"],
    }


def test_an_extension_gives_its_output_object(bench: Bench) -> None:
    outcome = run_one(bench, extension(bench.folder), with_={"text": "loud"})
    assert output_of(bench, outcome) == {"text": "LOUD"}
    key = (bench.folder / "invoked").read_text(encoding="utf-8").strip()
    assert key == effect_of(bench, outcome).idempotency_key


@pytest.mark.parametrize(
    "handshake",
    [
        "told['protocolVersion'] = 'agentctl.dev/process-extension/v2'",
        "told['inputSchema'] = {}",
        "told['capabilities'] = ['text', 'more']",
        "told['name'] = 7",
        "del told['name']",
        "told['extra'] = 1",
        "told = []",
        "sys.exit(2)",
        "print('noise')",
        "print('x' * 3_000_000)",
        "sys.stdout.buffer.write(b'\\xff')",
    ],
)
def test_a_handshake_that_differs_fails_before_anything_was_asked(
    bench: Bench, handshake: str
) -> None:
    action = extension(bench.folder, handshake=handshake)
    outcome = run_one(bench, action, with_={"text": "loud"})
    assert error_of(bench, outcome)["code"] == "extension_mismatch"
    assert effect_of(bench, outcome).state == "failed"
    assert not (bench.folder / "invoked").exists()


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        ("sys.exit('went wrong')", "process_failed"),
        ("answer['effectId'] = 'other'", "extension_malformed"),
        ("answer['protocolVersion'] = 'v0'", "extension_malformed"),
        ("answer['output'] = 'text'", "extension_malformed"),
        ("answer['output'] = {'text': 7}", "schema_violation"),
        ("answer['output'] = {'text': float('nan')}", "extension_malformed"),
        ("answer = {}", "extension_malformed"),
        ("print('noise')", "extension_malformed"),
        ("print('x' * 3_000_000)", "output_too_large"),
        ("os.kill(os.getpid(), 9)", "process_failed"),
    ],
)
def test_a_failure_after_the_invocation_leaves_doubt_unless_repeating_is_harmless(
    bench: Bench, answer: str, code: str
) -> None:
    action = extension(bench.folder, answer=answer)
    outcome = run_one(bench, action, with_={"text": "loud"})
    assert error_of(bench, outcome)["code"] == code
    assert effect_of(bench, outcome).state == "uncertain"
    again = run_one(bench, {**action, "idempotency": "idempotent"}, with_={"text": "loud"})
    assert effect_of(bench, again).state == "failed"


def test_an_input_that_does_not_fit_starts_nothing(bench: Bench) -> None:
    outcome = run_one(bench, extension(bench.folder), with_={"text": 7})
    assert "does not fit inputSchema" in str(outcome.error)
    assert bench.engine.store.load_run(outcome.run_id).effects == ()


def container(runtime: str = "auto") -> dict[str, Any]:
    """Return the container part of an action."""
    image = "example@sha256:" + "0" * 64
    return {"isolation": "container", "container": {"image": image, "runtime": runtime}}


@pytest.mark.parametrize("runtime", ["auto", "docker", "podman"])
def test_a_container_without_an_engine_is_refused_before_the_ledger_hears_of_it(
    bench: Bench, runtime: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(bench.folder))
    outcome = run_one(bench, shell("print()", **container(runtime)))
    assert "requested process isolation is unavailable" in str(outcome.error)
    assert bench.engine.store.load_run(outcome.run_id).effects == ()


def test_an_engine_is_asked_for_exactly_the_promised_isolation(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(_recording_engine(bench.folder)), prepend=":")
    monkeypatch.setenv("HIDDEN", "swordfish-77")
    action = shell("print()", env={"TOKEN": {"env": "HIDDEN"}}, **container("docker"))
    outcome = run_one(bench, action)
    assert outcome.state == "succeeded", outcome.error
    looked, ran, removed = (
        json.loads(line)
        for line in (bench.folder / "calls").read_text(encoding="utf-8").splitlines()
    )
    assert looked[:2] == ["image", "inspect"]
    assert removed[:2] == ["rm", "--force"]
    name = f"--name={removed[2]}"
    image = "example@sha256:" + "0" * 64
    options, command = ran[: ran.index(image)], ran[ran.index(image) + 1 :]
    assert command == ["-I", "-S", "-c", "print()"]
    assert options == [
        "run",
        "--rm",
        "--interactive",
        name,
        "--pull=never",
        "--read-only",
        "--user=65532:65532",
        "--network=none",
        "--cap-drop=ALL",
        "--security-opt=no-new-privileges",
        f"--mount=type=bind,source={bench.folder.resolve()},target=/workspace,readonly",
        "--workdir=/workspace",
        "--tmpfs=/tmp:rw,noexec,nosuid,nodev,size=16777216",
        "--memory=268435456",
        "--cpus=1.000",
        "--pids-limit=64",
        "--env=TOKEN",
        "--env=AGENTCTL_EFFECT_ID",
        "--env=AGENTCTL_IDEMPOTENCY_KEY",
        f"--entrypoint={sys.executable}",
    ]


def _recording_engine(folder: Path) -> Path:
    """Make a program named docker that notes how it was called."""
    tools = folder / "tools"
    tools.mkdir()
    program = tools / "docker"
    program.write_text(
        f"#!{sys.executable} -IS\n"
        "import json, sys\n"
        f"with open({str(folder / 'calls')!r}, 'a', encoding='utf-8') as file:\n"
        "    file.write(json.dumps(sys.argv[1:]) + '\\n')\n",
        encoding="utf-8",
    )
    program.chmod(0o755)
    return tools
