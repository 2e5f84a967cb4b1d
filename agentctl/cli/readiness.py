"""What a plan needs from this machine, looked at without running anything.

Above: `doctor`, and `run` for credentials. Below: the file system and the environment, by name
only: no value of a variable and no content of a file is ever read, nothing is started, and no
database is opened.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from shutil import which
from typing import TYPE_CHECKING, Final, cast

from attr import field, frozen

from agentctl.effects.secrets import Secrets
from agentctl.engine.credentials import credentials_of, providers_in_use
from agentctl.errors import PrerequisiteError
from agentctl.value import Value

if TYPE_CHECKING:
    from agentctl.engine.credentials import Credential
    from agentctl.engine.plan import Plan
    from agentctl.jsonvalue import JsonObject

SCOPE: Final = (
    "static prerequisites of this machine only; "
    "this does not establish workflow execution readiness"
)
PRESENT: Final = "present"
_PROCESS_KINDS: Final = frozenset({"builtin.shell.exec", "extension.process"})
_INTERPRETER: Final = re.compile(r"(python|pypy|node|ruby|perl|bash|sh|zsh|deno|php)[0-9.]*")


@frozen(kw_only=True, eq=False, repr=False)
class Check(Value):
    """One thing that was looked at: `present`, or what is wrong with it."""

    name: str
    status: str
    detail: str

    def as_json(self) -> JsonObject:
        """Return the public JSON."""
        return {"name": self.name, "status": self.status, "detail": self.detail}


@frozen(kw_only=True, eq=False, repr=False)
class Readiness(Value):
    """All that was looked at, and what could not be."""

    checks: tuple[Check, ...]
    unverified: tuple[Check, ...] = field(default=())

    @property
    def is_ready(self) -> bool:
        """Whether nothing that was looked at is missing."""
        return all(one.status == PRESENT for one in self.checks)


def examine(plan: Plan, workspace: Path) -> Readiness:
    """Look at every prerequisite that the plan names."""
    secrets = secrets_of(plan, workspace)
    found = [_look(one, secrets) for one in _needed(plan) if one.section != "process"]
    unverified: list[Check] = []
    for name, action in _definitions(plan, "actions"):
        if action.get("kind") in _PROCESS_KINDS:
            variables = [one for one in _needed(plan) if _is_of(one, "process", name)]
            checks, unknown = _process(name, action, workspace)
            found += [*checks, *(_look(one, secrets) for one in variables)]
            unverified += unknown
    for kind in ("mcpServers", "a2aPeers"):
        unverified += [
            _unchecked(f"{kind}:{name}", "the server was not contacted")
            for name, _ in _definitions(plan, kind)
        ]
    return Readiness(checks=tuple(found), unverified=tuple(unverified))


def require_credentials(plan: Plan, workspace: Path) -> None:
    """Raise PrerequisiteError when a provider that the plan uses has no credential."""
    secrets = secrets_of(plan, workspace)
    found = [_look(one, secrets) for one in _needed(plan) if one.section == "provider"]
    missing = [one for one in found if one.status != PRESENT]
    if missing:
        raise PrerequisiteError(
            "; ".join(one.detail for one in missing),
            help="`agentctl auth check FILE` says of each secret whether it can be found",
        )


def needed(plan: Plan, one: Credential) -> bool:
    """Return whether a run needs a reference: that of a provider only when an agent asks it."""
    return one.section != "provider" or one.owner in providers_in_use(plan)


def _needed(plan: Plan) -> list[Credential]:
    return [one for one in credentials_of(plan) if needed(plan, one)]


def _is_of(one: Credential, section: str, owner: str) -> bool:
    return (one.section, one.owner) == (section, owner)


def secrets_of(plan: Plan, workspace: Path) -> Secrets:
    """Return what looks secrets up, as a run of the plan would."""
    policy = cast("JsonObject", plan.definitions["policy"])
    return Secrets(policy, os.path.realpath(workspace))


def _look(one: Credential, secrets: Secrets) -> Check:
    """Look for a secret without its value: no file is read and no program started."""
    problem = secrets.lacks(one.reference)
    detail = f"{one.words}: {problem or one.source}"
    return Check(name=one.name, status="missing" if problem else PRESENT, detail=detail)


def _process(name: str, action: JsonObject, workspace: Path) -> tuple[list[Check], list[Check]]:
    prefix = f"process:{name}"
    folder = _folder(workspace, cast("str | None", action.get("cwd")))
    checks = [_command(prefix, action, folder)]
    if folder is None:
        detail = f"working directory {action.get('cwd')} inside the workspace"
        checks.append(Check(name=f"{prefix}:cwd", status="missing_or_denied", detail=detail))
    script, unknown = _arguments(prefix, action, folder)
    return checks + script, unknown


def _folder(workspace: Path, cwd: str | None) -> Path | None:
    """Return the action's working directory, or None when it is missing or outside."""
    try:
        root = workspace.resolve()
        folder = (root / (cwd or ".")).resolve()
    except (OSError, ValueError):
        return None
    return folder if folder.is_relative_to(root) and folder.is_dir() else None


def _command(prefix: str, action: JsonObject, folder: Path | None) -> Check:
    command = cast("str", action.get("command") or "")
    name = f"{prefix}:command"
    if action.get("isolation") == "container":
        container = cast("JsonObject", action.get("container") or {})
        runtime = cast("str", container.get("runtime") or "auto")
        names = ("docker", "podman") if runtime == "auto" else (runtime,)
        is_there = any(which(one) for one in names)
        detail = f"container engine {' or '.join(names)}"
    elif "/" in command:
        is_there = _is_program((folder or Path.cwd()) / command)
        detail = f"program {command}"
    else:
        is_there = which(command) is not None
        detail = f"program {command} on the search path"
    return Check(
        name=name, status=PRESENT if is_there else "missing_or_not_executable", detail=detail
    )


def _arguments(
    prefix: str, action: JsonObject, folder: Path | None
) -> tuple[list[Check], list[Check]]:
    """Look at an interpreter's script; say what stays unknown about any other program."""
    program = os.path.basename(cast("str", action.get("command") or ""))
    given = cast("list[str]", action.get("args") or [])
    first = given[0] if given else ""
    name = f"{prefix}:dependencies"
    if not _INTERPRETER.fullmatch(program):
        detail = f"helper-internal requirements of {program} were not examined"
        return [], [_unchecked(name, detail)]
    if first.startswith("-") or not first:
        detail = "inline code and modules that the interpreter loads were not examined"
        return [], [_unchecked(name, detail)]
    is_there = folder is not None and (folder / first).is_file()
    script = Check(
        name=f"{prefix}:script",
        status=PRESENT if is_there else "missing_or_not_file",
        detail=f"script {first} in the working directory",
    )
    return [script], [
        _unchecked(name, "what the script itself imports and needs was not examined")
    ]


def _is_program(path: Path) -> bool:
    try:
        return path.is_file() and os.access(path, os.X_OK)
    except (OSError, ValueError):
        return False


def _unchecked(name: str, detail: str) -> Check:
    return Check(name=name, status="unchecked", detail=detail)


def _definitions(plan: Plan, section: str) -> list[tuple[str, JsonObject]]:
    found = cast("dict[str, JsonObject] | None", plan.definitions.get(section))
    return list((found or {}).items())
