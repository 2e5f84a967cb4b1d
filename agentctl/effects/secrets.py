"""The values of secrets: found when an effect needs them, kept in memory for one run, never told.

Above: the dispatcher and the executors, which know this as `ports.SecretVault`; `auth check`.
Below: the environment, files below `policy.secretFileRoots`, and small programs of
`policy.secretProcessAllowlist`. No message, text form or record of this module holds a value.
Source: specification, section 1.1 (secret, policy).
"""

from __future__ import annotations

import os
from posixpath import basename, isabs, normpath
from threading import RLock
from typing import TYPE_CHECKING, cast

from agentctl.effects.paths import Missing, PathProblem, TooLarge, read_below, split
from agentctl.errors import AgentctlError, EffectError, SecretMissing
from agentctl.jsonvalue import canonical
from agentctl.limits import SECRET_BYTES_MAX

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from agentctl.effects.redaction import Redactor
    from agentctl.jsonvalue import JsonObject


class Secrets:
    """The secrets of one run, under the policy of its document.

    `policy` is the plan's, in document spelling; relative paths start at `workspace`, which is
    also where programs run.
    """

    __slots__ = ("_lock", "_policy", "_redactor", "_values", "_workspace")

    def __init__(self, policy: JsonObject, workspace: str) -> None:
        self._policy = policy
        self._workspace = workspace
        self._values: dict[str, str] = {}
        self._redactor: Redactor | None = None
        # A program that two effects need at once runs once.
        self._lock = RLock()

    def __repr__(self) -> str:
        """Tell how many, and nothing of what."""
        return f"Secrets({len(self._values)} resolved)"

    @property
    def redaction(self) -> Redactor | None:
        """What takes every value resolved so far out; None as long as there is none."""
        return self._redactor

    def resolve(self, reference: JsonObject) -> str:
        """Return a secret's value, looked up once. Raises SecretMissing, or EffectError."""
        key = canonical(reference)
        with self._lock:
            if key not in self._values:
                self._values[key] = self._find(reference)
                self._redactor = _redactor(self._values.values())
            return self._values[key]

    def environment(self, references: Mapping[str, JsonObject]) -> dict[str, str]:
        """Return a process's variables. Raises as `resolve`, and for a name that is not listed."""
        listed = cast("list[str]", self._policy.get("environmentAllowlist") or [])
        for name in references:
            if name not in listed:
                raise _denied(f"policy.environmentAllowlist does not list the variable {name!r}")
        return {name: self.resolve(reference) for name, reference in references.items()}

    def remember(self, references: Iterable[JsonObject]) -> None:
        """Resolve all of these again as far as possible, so that they are known to redaction."""
        for reference in references:
            try:
                self.resolve(reference)
            except AgentctlError:
                continue

    def _find(self, reference: JsonObject) -> str:
        given = {key: value for key, value in reference.items() if value is not None}
        if isinstance(given.get("env"), str):
            return _variable(cast("str", given["env"]))
        if isinstance(given.get("file"), str):
            return self._file(cast("str", given["file"]))
        if isinstance(given.get("process"), dict):
            return self._process(cast("JsonObject", given["process"]))
        raise SecretMissing("the secret has none of env, file and process")

    def _file(self, path: str) -> str:
        what = f"the secret file {path!r}"
        roots = cast("list[str]", self._policy.get("secretFileRoots") or [])
        folder, inside = _root_of(path, roots, self._workspace)
        try:
            raw = read_below(folder, split(inside), SECRET_BYTES_MAX)
        except Missing:
            raise SecretMissing(f"{what} does not exist", help="make the file") from None
        except TooLarge:
            bound = f"SECRET_BYTES_MAX is {SECRET_BYTES_MAX:,} bytes"
            raise SecretMissing(f"{what} is too large; {bound}") from None
        except PathProblem as problem:
            raise SecretMissing(f"{what} {problem.reason}", help=problem.help) from None
        except OSError as error:
            raise SecretMissing(f"{what} cannot be read: {error.strerror}") from None
        return _usable(raw, what)

    def _process(self, process: JsonObject) -> str:
        from agentctl.effects.secret_process import output_of  # late: few secrets need a program

        command = cast("str", process.get("command") or "")
        listed = cast("list[str]", self._policy.get("secretProcessAllowlist") or [])
        if basename(command) not in listed:
            name = basename(command)
            raise _denied(f"policy.secretProcessAllowlist does not list the program {name!r}")
        return _usable(output_of(process, self._workspace), f"the secret program {command!r}")


def open_secrets(definitions: JsonObject, workspace: str) -> Secrets:
    """Return the secrets of one run of a plan with these definitions."""
    return Secrets(cast("JsonObject", definitions["policy"]), workspace)


def _variable(name: str) -> str:
    what = f"the environment variable {name}"
    value = os.environ.get(name)
    if value is None:
        raise SecretMissing(f"{what} is not set", help=f"set {name} before the run")
    return _checked(value, what)


def _root_of(path: str, roots: Iterable[str], workspace: str) -> tuple[str, str]:
    """Return the folder to open, which is trusted, and the rest of the path, which is not.

    A relative path is walked from the workspace on, an absolute one from its own root.
    """
    wanted = normpath(path)
    for root in map(normpath, roots):
        if root == "." and not isabs(wanted) and wanted.split("/")[0] != "..":
            return workspace, path
        if wanted.startswith(root.rstrip("/") + "/"):
            return (root, wanted[len(root) :].lstrip("/")) if isabs(root) else (workspace, path)
    raise _denied(f"the secret file {path!r} is not below a root in policy.secretFileRoots")


def _usable(raw: bytes, what: str) -> str:
    """Return what was read as a value: text without its last line break."""
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        raise SecretMissing(f"{what} does not give UTF-8 text") from None
    return _checked(text.removesuffix("\n").removesuffix("\r"), what)


def _checked(value: str, what: str) -> str:
    if not value:
        raise SecretMissing(f"{what} is empty")
    if "\0" in value:
        raise SecretMissing(f"{what} gives a NUL character, which no variable can hold")
    return value


def _denied(message: str) -> EffectError:
    return EffectError(message, code="policy_denied")


def _redactor(values: Iterable[str]) -> Redactor:
    from agentctl.effects.redaction import Redactor  # late: most runs have no secret

    return Redactor(values)
