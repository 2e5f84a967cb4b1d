"""What is to be run: a resolved program, its arguments, environment, folder and bounds.

Above: the executors. Below: the operating system's view of files and folders.
Source: specification, section 6 (processes).
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from attr import field, frozen

from agentctl.effects.paths import Missing, PathProblem, open_folder, split
from agentctl.errors import EffectError
from agentctl.suggest import did_you_mean
from agentctl.value import Value

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentctl.engine.records import EffectRecord


@frozen(kw_only=True, eq=False, repr=False)
class Limits(Value):
    """How many bytes a program may print: to each stream, and to both together."""

    stdout_bytes: int
    stderr_bytes: int
    combined_bytes: int


@frozen(kw_only=True, eq=False, repr=False)
class Command(Value):
    """One program to run; `program` is an absolute path and `folder` an existing one.

    `container` is the name of the container that the program makes, if it makes one.
    """

    program: str
    arguments: tuple[str, ...]
    folder: str
    environment: Mapping[str, str]
    limits: Limits
    stdin: bytes = field(default=b"")
    container: str | None = None


def find_program(command: str, folder: str) -> str:
    """Return the absolute path of a program; a bare name is looked up in this process's PATH.

    Raises EffectError for one that does not exist or may not be run.
    """
    if "\0" in command or not command:
        raise EffectError(f"{command!r} is not the name of a program", code="process_missing")
    if "/" in command:
        return _checked(os.path.join(folder, command), command)
    from shutil import which

    found = which(command)
    if found is None:
        raise EffectError(f"the program {command!r} is not on the PATH", code="process_missing")
    return os.path.abspath(found)


def _checked(path: str, command: str) -> str:
    if not os.path.isfile(path):
        near = _near(path)
        raise EffectError(f"the program {command!r} does not exist{near}", code="process_missing")
    if not os.access(path, os.X_OK):
        raise EffectError(f"the program {command!r} may not be run", code="process_missing")
    return os.path.abspath(path)


def _near(path: str) -> str:
    folder, name = os.path.split(path)
    try:
        hint = did_you_mean(name, os.listdir(folder)[:1000])
    except OSError:
        return ""
    return f"; {hint}" if hint else ""


def working_folder(workspace: str, cwd: str | None) -> str:
    """Return the folder that a program starts in.

    Raises EffectError when it is not a folder inside the workspace, reached without links.
    """
    if cwd in (None, "", ".", "./"):
        return workspace
    assert cwd is not None
    inside = cwd.rstrip("/")
    if inside.startswith(workspace.rstrip("/") + "/"):
        inside = inside[len(workspace.rstrip("/")) + 1 :]
    try:
        parts = split(inside)
        os.close(open_folder(workspace, parts))
    except Missing as problem:
        near = f"; {problem.help}" if problem.help else ""
        message = f"the working directory {cwd!r} {problem.reason}{near}"
        raise EffectError(message, code="file_missing") from None
    except PathProblem as problem:
        message = f"the working directory {cwd!r} {problem.reason}"
        raise EffectError(message, code="path_refused") from None
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        message = f"the working directory {cwd!r}: {reason}"
        raise EffectError(message, code="file_error") from error
    return os.path.join(workspace, *parts)


def effect_variables(effect: EffectRecord) -> dict[str, str]:
    """Return the variables that tell a program which effect it performs.

    A program that calls an outside system hands the key on, so that the system can see that
    two calls are one.
    """
    return {
        "AGENTCTL_EFFECT_ID": effect.id,
        "AGENTCTL_IDEMPOTENCY_KEY": effect.idempotency_key,
    }
