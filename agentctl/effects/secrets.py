"""The values of secrets: found when an effect needs them, kept in memory for one run, never told.

Above: the dispatcher and the executors, which know this as `ports.SecretKeeper`; `auth check` and
`doctor`. Below: the environment, files below `policy.secretFileRoots`, and small programs of
`policy.secretProcessAllowlist`. No message, text form or record of this module holds a value.
Source: specification, section 1.1 (secret, policy).
"""

from __future__ import annotations

import os
from posixpath import basename, isabs, normpath
from typing import TYPE_CHECKING, cast

from agentctl.effects.paths import PathProblem, TooLarge, look_below, read_below, split
from agentctl.errors import AgentctlError, EffectError, SecretMissing
from agentctl.jsonvalue import canonical
from agentctl.limits import SECRET_BYTES_MAX

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Iterable, Mapping

    from agentctl.effects.redaction import Redactor
    from agentctl.engine.ports import TextRedaction
    from agentctl.jsonvalue import JsonObject, JsonValue


class Secrets:
    """The secrets of one run, under the policy of its document.

    `policy` is the plan's, in document spelling; relative paths start at `workspace`, which is
    also where programs run. `others` are references that no document holds.
    """

    __slots__ = ("_lock", "_others", "_policy", "_redactor", "_values", "_workspace")

    def __init__(
        self, policy: JsonObject, workspace: str, others: Iterable[JsonObject] = ()
    ) -> None:
        self._policy = policy
        self._workspace = workspace
        self._others = tuple(others)
        self._values: dict[str, str] = {}
        self._redactor: Redactor | None = None
        self._lock: asyncio.Lock | None = None

    def __repr__(self) -> str:
        """Tell how many, and nothing of what."""
        return f"Secrets({self.known} known)"

    @property
    def known(self) -> int:
        """How many values were found so far."""
        return len(self._values)

    async def resolve(self, reference: Mapping[str, JsonValue]) -> str:
        """Return a secret's value, looked up once. Raises SecretMissing, or EffectError."""
        import asyncio  # late: most runs have no secret

        key = canonical(dict(reference))
        if self._lock is None:
            # A program that two effects need at once runs once.
            self._lock = asyncio.Lock()
        async with self._lock:
            if key not in self._values:
                self._values[key] = await self._find(reference)
                self._redactor = None
            return self._values[key]

    async def environment(self, references: Mapping[str, JsonObject]) -> dict[str, str]:
        """Return a process's variables. Raises as `resolve`, and for a name that is not listed."""
        listed = self._listed("environmentAllowlist")
        for name in references:
            if name not in listed:
                raise _denied(f"policy.environmentAllowlist does not list the variable {name!r}")
        return {name: await self.resolve(reference) for name, reference in references.items()}

    async def remember(self, references: Iterable[JsonObject]) -> None:
        """Resolve these and `others` as far as possible, so that they are known to redaction."""
        for reference in (*references, *self._others):
            try:
                await self.resolve(reference)
            except AgentctlError:
                continue

    def lacks(self, reference: Mapping[str, JsonValue]) -> str | None:
        """Return why a secret cannot be resolved, as far as can be told without its value.

        No file is read and no program is started.
        """
        try:
            self._look(reference)
        except AgentctlError as error:
            return error.message
        return None

    def redact(self, value: JsonValue) -> JsonValue:
        """Return a JSON value without any value that was found."""
        return self._made().value(value) if self._values else value

    def redact_text(self, text: str) -> str:
        """Return a text without any value that was found."""
        return self._made().text(text) if self._values else text

    def redact_bytes(self, data: bytes) -> bytes:
        """Return bytes without any value that was found."""
        return self._made().data(data) if self._values else data

    def stream(self) -> TextRedaction:
        """Return what redacts a text that arrives in pieces, by the values known now."""
        return self._made().stream()

    def _made(self) -> Redactor:
        if self._redactor is None:
            from agentctl.effects.redaction import Redactor  # late: most runs have no secret

            self._redactor = Redactor(self._values.values())
        return self._redactor

    async def _find(self, reference: Mapping[str, JsonValue]) -> str:
        variable, path = reference.get("env"), reference.get("file")
        if isinstance(variable, str):
            return _variable(variable)
        if isinstance(path, str):
            return self._file(path)
        return await self._printed(reference)

    def _look(self, reference: Mapping[str, JsonValue]) -> None:
        variable, path = reference.get("env"), reference.get("file")
        if isinstance(variable, str):
            _variable(variable)
        elif isinstance(path, str):
            self._open(path, is_read=False)
        else:
            from agentctl.effects.secret_process import find_program

            find_program(self._allowed(reference), self._workspace)

    def _file(self, path: str) -> str:
        return _usable(self._open(path, is_read=True), f"the secret file {path!r}")

    def _open(self, path: str, *, is_read: bool) -> bytes:
        """Return a file's bytes, or none of them when it is only looked for."""
        what = f"the secret file {path!r}"
        folder, inside = _root_of(path, self._listed("secretFileRoots"), self._workspace)
        try:
            if is_read:
                return read_below(folder, split(inside), SECRET_BYTES_MAX)
            look_below(folder, split(inside))
        except TooLarge as problem:
            raise SecretMissing(f"{what} {problem.reason}, SECRET_BYTES_MAX") from None
        except PathProblem as problem:
            raise SecretMissing(f"{what} {problem.reason}", help=problem.help) from None
        except OSError as error:
            raise SecretMissing(f"{what} cannot be read: {error.strerror}") from None
        return b""

    async def _printed(self, reference: Mapping[str, JsonValue]) -> str:
        from agentctl.effects.secret_process import output_of  # late: few secrets need a program

        command = self._allowed(reference)
        process = cast("JsonObject", reference["process"])
        return _usable(
            await output_of(process, self._workspace), f"the secret program {command!r}"
        )

    def _allowed(self, reference: Mapping[str, JsonValue]) -> str:
        """Return the program of a reference, if the policy lists it."""
        process = cast("JsonObject", reference.get("process") or {})
        command = cast("str", process.get("command") or "")
        name = basename(command)
        if name not in self._listed("secretProcessAllowlist"):
            raise _denied(f"policy.secretProcessAllowlist does not list the program {name!r}")
        return command

    def _listed(self, field: str) -> list[str]:
        return cast("list[str]", self._policy.get(field) or [])


def _variable(name: str) -> str:
    what = f"the environment variable {name}"
    value = os.environ.get(name)
    if value is None:
        raise SecretMissing(f"{what} is not set", help=f"set {name}, and try again")
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
