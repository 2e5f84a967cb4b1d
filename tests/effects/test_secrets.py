"""Where secrets are found, under which policy, and what is said when they are not."""

from __future__ import annotations

import asyncio
import os
import select
import stat
from typing import TYPE_CHECKING

import pytest

from agentctl.effects.secrets import Secrets
from agentctl.errors import AgentctlError, EffectError, SecretMissing
from agentctl.limits import SECRET_BYTES_MAX

if TYPE_CHECKING:
    from pathlib import Path

    from agentctl.jsonvalue import JsonObject, JsonValue

VALUE = "s3cret-of-the-test"


def keeper(folder: Path, **policy: JsonValue) -> Secrets:
    """Return secrets whose policy allows the folder `keys` and the shell."""
    allowed: JsonObject = {"secretFileRoots": ["keys"], "secretProcessAllowlist": ["sh"], **policy}
    return Secrets(allowed, str(folder))


def found(secrets: Secrets, reference: JsonObject) -> str:
    """Resolve one reference on a loop of its own."""
    return asyncio.run(secrets.resolve(reference))


def refused(secrets: Secrets, reference: JsonObject) -> AgentctlError:
    """Return why one reference cannot be resolved; it never tells the value."""
    with pytest.raises(AgentctlError) as caught:
        found(secrets, reference)
    assert VALUE not in f"{caught.value} {caught.value.help} {caught.value!r}"
    return caught.value


def shell(script: str, **limits: int) -> JsonObject:
    """Return a reference to what a shell prints."""
    return {"process": {"command": "sh", "args": ["-c", script], **limits}}


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    """Return a folder with one secret file."""
    folder = tmp_path / "keys"
    folder.mkdir()
    (folder / "token").write_text(f"{VALUE}\n", encoding="utf-8")
    return folder


def test_a_variable_is_read_when_it_is_needed_and_only_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secrets = keeper(tmp_path)
    monkeypatch.setenv("THE_TOKEN", VALUE)
    assert found(secrets, {"env": "THE_TOKEN"}) == VALUE
    monkeypatch.delenv("THE_TOKEN")
    assert found(secrets, {"env": "THE_TOKEN"}) == VALUE
    error = refused(keeper(tmp_path), {"env": "THE_TOKEN"})
    assert isinstance(error, SecretMissing)
    assert (error.exit_code, error.code) == (6, "missing_credential")
    assert error.message == "the environment variable THE_TOKEN is not set"


def test_no_text_form_of_the_keeper_tells_a_value(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("THE_TOKEN", VALUE)
    secrets = keeper(tmp_path)
    found(secrets, {"env": "THE_TOKEN"})
    assert f"{secrets!r} {secrets}" == "Secrets(1 known) Secrets(1 known)"


def test_a_file_gives_its_text_without_the_last_line_break(tmp_path: Path, keys: Path) -> None:
    assert found(keeper(tmp_path), {"file": "keys/token"}) == VALUE
    assert found(keeper(tmp_path, secretFileRoots=["."]), {"file": "./keys/token"}) == VALUE
    absolute = keeper(tmp_path / "elsewhere", secretFileRoots=[str(keys)])
    assert found(absolute, {"file": str(keys / "token")}) == VALUE


@pytest.mark.parametrize("path", ["other/token", "keys/../other", "../keys/token", "/etc/passwd"])
def test_a_file_outside_the_roots_is_denied(tmp_path: Path, keys: Path, path: str) -> None:
    del keys
    error = refused(keeper(tmp_path), {"file": path})
    assert isinstance(error, EffectError)
    assert error.kind == "policy_denied"
    assert "policy.secretFileRoots" in error.message


def test_a_link_is_not_followed_and_a_folder_or_pipe_is_no_secret(
    tmp_path: Path, keys: Path
) -> None:
    (keys / "link").symlink_to(keys / "token")
    (tmp_path / "linked").symlink_to(keys)
    os.mkfifo(keys / "pipe")
    (keys / "folder").mkdir()
    assert "symbolic link" in refused(keeper(tmp_path), {"file": "keys/link"}).message
    linked = keeper(tmp_path, secretFileRoots=["linked"])
    assert "symbolic link" in refused(linked, {"file": "linked/token"}).message
    for name in ("pipe", "folder"):
        error = refused(keeper(tmp_path), {"file": f"keys/{name}"})
        assert error.message == f"the secret file 'keys/{name}' is not a regular file"


def test_a_missing_empty_large_or_binary_file_is_named(tmp_path: Path, keys: Path) -> None:
    (keys / "empty").write_bytes(b"\n")
    (keys / "large").write_bytes(VALUE.encode() * SECRET_BYTES_MAX)
    (keys / "binary").write_bytes(VALUE.encode() + b"\xff")
    (keys / "nul").write_bytes(VALUE.encode() + b"\0")
    secrets = keeper(tmp_path)
    said = {
        name: refused(secrets, {"file": f"keys/{name}"}).message
        for name in ("tokem", "empty", "large", "binary", "nul")
    }
    assert said == {
        "tokem": "the secret file 'keys/tokem' does not exist",
        "empty": "the secret file 'keys/empty' is empty",
        "large": "the secret file 'keys/large' has more than 65,536 bytes, SECRET_BYTES_MAX",
        "binary": "the secret file 'keys/binary' does not give UTF-8 text",
        "nul": "the secret file 'keys/nul' gives a NUL character, which no variable can hold",
    }
    assert refused(secrets, {"file": "keys/tokem"}).help == "did you mean 'token'?"


def test_a_program_prints_a_secret_in_the_workspace_and_without_an_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("THE_TOKEN", VALUE)
    secrets = keeper(tmp_path)
    assert found(secrets, shell('printf \'%s|%s\' "$THE_TOKEN" "$HOME"')) == "|"
    assert found(secrets, shell("pwd -P")) == os.path.realpath(tmp_path)
    program = tmp_path / "bin" / "sh"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\necho {VALUE}\n", encoding="utf-8")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    assert found(secrets, {"process": {"command": "bin/sh"}}) == VALUE


def test_two_that_need_a_program_at_once_run_it_once(tmp_path: Path) -> None:
    secrets = keeper(tmp_path)
    reference = shell(f"echo x >>runs; echo {VALUE}")

    async def both() -> list[str]:
        return list(await asyncio.gather(*(secrets.resolve(reference) for _ in range(8))))

    assert set(asyncio.run(both())) == {VALUE}
    assert (tmp_path / "runs").read_text(encoding="utf-8") == "x\n"


def test_a_program_that_is_not_listed_is_denied(tmp_path: Path) -> None:
    error = refused(keeper(tmp_path), {"process": {"command": "cat", "args": ["keys/token"]}})
    assert error.message == "policy.secretProcessAllowlist does not list the program 'cat'"


def test_a_program_that_fails_is_slow_or_says_too_much_gives_nothing(tmp_path: Path) -> None:
    secrets = keeper(tmp_path, secretProcessAllowlist=["sh", "no-such-program"])
    references: list[JsonObject] = [
        shell(f"echo {VALUE}; echo {VALUE} >&2; exit 3"),
        shell(f"echo {VALUE}; sleep 60", timeoutSeconds=1),
        shell(f"while :; do echo {VALUE}; done", outputLimitBytes=128),
        shell(f"exec >&-; : {VALUE}; sleep 60", timeoutSeconds=1),
        shell(":"),
        {"process": {"command": "no-such-program"}},
    ]
    said = [refused(secrets, reference).message for reference in references]
    assert said == [
        "the secret program 'sh' ended with exit code 3",
        "the secret program 'sh' did not end within 1 s",
        "the secret program 'sh' wrote more than outputLimitBytes = 128",
        "the secret program 'sh' did not end within 1 s",
        "the secret program 'sh' is empty",
        "the secret program 'no-such-program' was not found, or cannot be run",
    ]


def test_what_a_program_started_ends_with_it(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "alive")
    descriptor = os.open(tmp_path / "alive", os.O_RDONLY | os.O_NONBLOCK)
    try:
        script = f"exec 3>alive; sleep 60 >/dev/null & echo {VALUE}"
        assert found(keeper(tmp_path), shell(script)) == VALUE
        # The pipe loses its last writer long before that one would end by itself.
        poll = select.poll()
        poll.register(descriptor, 0)
        assert poll.poll(30_000) == [(descriptor, select.POLLHUP)]
    finally:
        os.close(descriptor)


def test_a_cancelled_lookup_kills_the_program(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "started")
    script = "echo $$ >started; exec sleep 60"
    secrets = keeper(tmp_path)

    async def cancel() -> int:
        looking = asyncio.create_task(secrets.resolve(shell(script, timeoutSeconds=60)))
        # Reading the pipe waits until the program has said its number.
        pid = int(await asyncio.to_thread((tmp_path / "started").read_text, "utf-8"))
        looking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await looking
        return pid

    # The loop ends only when the thread that waits for the program has ended.
    pid = asyncio.run(cancel())
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_an_environment_holds_only_what_the_policy_lists(
    tmp_path: Path, keys: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    del keys
    monkeypatch.setenv("THE_TOKEN", "another-value")
    secrets = keeper(tmp_path, environmentAllowlist=["A", "B"])
    given = asyncio.run(
        secrets.environment({"A": {"file": "keys/token"}, "B": {"env": "THE_TOKEN"}})
    )
    assert given == {"A": VALUE, "B": "another-value"}
    with pytest.raises(EffectError, match="environmentAllowlist does not list the variable 'C'"):
        asyncio.run(secrets.environment({"C": {"env": "THE_TOKEN"}}))


def test_looking_reads_no_file_and_starts_no_program(
    tmp_path: Path, keys: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("THE_TOKEN", VALUE)
    (keys / "binary").write_bytes(b"\xff")
    secrets = keeper(tmp_path)
    for there in ({"env": "THE_TOKEN"}, {"file": "keys/binary"}, shell("echo x >>runs")):
        assert secrets.lacks(there) is None
    assert not (tmp_path / "runs").exists()
    assert secrets.known == 0
    assert secrets.lacks({"env": "NO_TOKEN"}) == "the environment variable NO_TOKEN is not set"
    assert secrets.lacks({"file": "keys/no"}) == "the secret file 'keys/no' does not exist"
    assert "secretProcessAllowlist" in str(secrets.lacks({"process": {"command": "cat"}}))
