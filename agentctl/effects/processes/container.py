"""A program in a container: the command line of docker or podman, and whether one is there.

Above: preparing, and the check before a request is recorded. Below: the engine's own program.
Nothing is pulled, nothing is written but a small temporary folder, and no network is reached.
Source: specification, section 6 (container isolation).
"""

from __future__ import annotations

import os
import subprocess
from secrets import token_hex
from shutil import which
from typing import TYPE_CHECKING, Final, cast

from agentctl.effects.processes.command import Command
from agentctl.errors import EffectError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from agentctl.effects.processes.command import Limits
    from agentctl.engine.ports import EffectRequest
    from agentctl.jsonvalue import JsonObject

_ENGINES: Final = ("docker", "podman")
_USER: Final = "65532:65532"
_TEMPORARY: Final = "/tmp:rw,noexec,nosuid,nodev,size=16777216"  # noqa: S108 - in the container
_LOOK_SECONDS: Final = 10
# The client finds its daemon through these; the program inside sees none of them.
_CLIENT_VARIABLES: Final = ("PATH", "HOME", "DOCKER_HOST", "XDG_RUNTIME_DIR", "CONTAINER_HOST")


def require_container(request: EffectRequest, definitions: JsonObject) -> None:
    """Refuse a request whose isolation this machine cannot give, before it is recorded.

    Raises EffectError: no engine, an engine that does not answer, or an image that is not local.
    """
    del definitions
    asked = cast("JsonObject", request.input)
    if asked["isolation"] != "container":
        return
    box = cast("JsonObject", asked["container"])
    engine = _engine(cast("str", box["runtime"]))
    image = cast("str", box["image"])
    try:
        looked = subprocess.run(
            [engine, "image", "inspect", image],
            env=_client_environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            timeout=_LOOK_SECONDS,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise _unavailable(f"{engine} does not answer: {error}") from None
    if looked.returncode != 0:
        raise _unavailable(f"{os.path.basename(engine)} has no local image {image}")


def contained(
    program: str,
    arguments: Sequence[str],
    box: JsonObject,
    folder: str,
    variables: Mapping[str, str],
    limits: Limits,
    stdin: bytes,
) -> Command:
    """Return the command that runs a program in its container.

    Values of variables go to the engine through its own environment, never its command line.
    """
    name = f"agentctl-{token_hex(8)}"
    options = [
        "run",
        "--rm",
        "--interactive",
        f"--name={name}",
        "--pull=never",
        "--read-only",
        f"--user={_USER}",
        "--network=none",
        "--cap-drop=ALL",
        "--security-opt=no-new-privileges",
        f"--mount=type=bind,source={folder},target=/workspace,readonly",
        "--workdir=/workspace",
        f"--tmpfs={_TEMPORARY}",
        f"--memory={box['memoryLimitBytes']}",
        f"--cpus={cast('int', box['cpuLimitMillis']) / 1000:.3f}",
        f"--pids-limit={box['pidsLimit']}",
        *(f"--env={variable}" for variable in variables),
        f"--entrypoint={program}",
        cast("str", box["image"]),
    ]
    return Command(
        program=_engine(cast("str", box["runtime"])),
        arguments=(*options, *arguments),
        folder=folder,
        environment={**_client_environment(), **variables},
        limits=limits,
        stdin=stdin,
        container=name,
    )


def remove(command: Command) -> None:
    """Remove a container by force; the client's end does not end what the daemon runs."""
    subprocess.run(
        [command.program, "rm", "--force", cast("str", command.container)],
        env=_client_environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        timeout=_LOOK_SECONDS,
    )


def _engine(runtime: str) -> str:
    """Return the engine's program; a named one is never replaced by another."""
    for name in _ENGINES if runtime == "auto" else (runtime,):
        found = which(name)
        if found is not None:
            return os.path.abspath(found)
    missing = "neither docker nor podman is" if runtime == "auto" else f"{runtime} is not"
    raise _unavailable(f"{missing} on the PATH")


def _unavailable(reason: str) -> EffectError:
    message = f"requested process isolation is unavailable: {reason}"
    return EffectError(message, code="isolation_unavailable")


def _client_environment() -> dict[str, str]:
    return {name: os.environ[name] for name in _CLIENT_VARIABLES if name in os.environ}
