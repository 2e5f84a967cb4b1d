"""Agent files on the command line: finding and reading them, and saying what they grant.

Above: `agents`. Below: the agent files and the file system.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from agentctl.agentfiles.agent import read_agent
from agentctl.agentfiles.model import FORMATS
from agentctl.agentfiles.reading import detect_format
from agentctl.errors import SourceError, UsageError
from agentctl.limits import DOCUMENT_BYTES_MAX
from agentctl.suggest import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from agentctl.agentfiles.agent import AgentFile
    from agentctl.agentfiles.changes import Change
    from agentctl.agentfiles.check import Verdict
    from agentctl.agentfiles.model import Format, Grant
    from agentctl.jsonvalue import JsonObject, JsonValue

SUFFIXES = {"goose": ".yaml", "codex": ".toml", "copilot": ".agent.md"}


def source_text(path: str) -> str:
    """Return a file's text. Raises SourceError."""
    from agentctl.cli.regular_files import read_regular

    help = "an agent file holds instructions; keep what is long in files that it names"
    data = read_regular(path, "DOCUMENT_BYTES_MAX", DOCUMENT_BYTES_MAX, help=help)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise SourceError(
            f"{path} is not UTF-8 (byte {error.start})", help="save the file as UTF-8"
        ) from None


def known_format(name: str) -> Format:
    """Return a format by its name. Raises UsageError."""
    found = next((one for one in FORMATS if one == name), None)
    if found is None:
        raise UsageError(f"no format {name!r}", help=did_you_mean(name, FORMATS))
    return found


def load(path: str, format: str | None = None) -> AgentFile:
    """Return the agent of a file. Raises SourceError and UsageError."""
    text = source_text(path)
    found = known_format(format) if format else detect_format(os.path.abspath(path), text)
    if found is None:
        raise UsageError(
            f"{path}: its place does not tell the format",
            help=f"say it: {', '.join(FORMATS)}",
        )
    return read_agent(text, found, slug=slug_of(path))


def slug_of(path: str) -> str:
    """Return the name that a file gives its agent."""
    name = os.path.basename(path)
    for suffix in (".agent.md", ".chatmode.md"):
        name = name.removesuffix(suffix)
    return os.path.splitext(name)[0] or "agent"


def load_all(
    folder: str, format: str | None = None
) -> tuple[list[tuple[str, AgentFile]], list[tuple[str, SourceError]]]:
    """Return the agents below a folder, and what cannot be read with its reason, by their paths.

    Raises SourceError when there is no such folder or file, and UsageError for a format.
    """
    found: list[tuple[str, AgentFile]] = []
    failed: list[tuple[str, SourceError]] = []
    for path in agent_files(folder, failed):
        try:
            found.append((path, load(path, format)))
        except SourceError as error:
            failed.append((path, error))
    return found, failed


def agent_files(folder: str, failed: list[tuple[str, SourceError]]) -> Iterator[str]:
    """Yield the agent files below a folder, in the order of their paths; a file is itself.

    A folder that cannot be listed is added to `failed`. Raises SourceError.
    """
    if not os.path.lexists(folder):
        raise SourceError(f"{folder} is neither a file nor a folder")
    if not os.path.isdir(folder):
        yield folder
        return

    def fail(error: OSError) -> None:
        place = os.fsdecode(error.filename)
        failed.append((place, SourceError(f"{place}: {error.strerror}")))

    for place, folders, names in os.walk(folder, onerror=fail):
        folders.sort()
        for name in sorted(names):
            path = os.path.join(place, name)
            if name.endswith((".md", ".yaml", ".yml", ".toml")) and detect_format(
                os.path.abspath(path)
            ):
                yield path


def grant_data(path: str, agent: AgentFile) -> JsonObject:
    """Return what a file grants, as JSON."""
    grant = agent.grant
    upper = grant.scopes_upper
    tokens: list[JsonValue] = [
        {
            "text": one.text, "line": one.line, "column": one.column, "scopes": [*one.scopes],
            "extras": [*one.extras], "isKnown": one.is_known, "isDenied": one.is_denied,
        }
        for one in grant.tokens
    ]  # fmt: skip
    problems: list[JsonValue] = [
        {
            "code": one.code, "message": one.message, "line": one.line, "column": one.column,
            "help": one.help,
        }
        for one in grant.problems
    ]  # fmt: skip
    return {
        "file": path,
        "format": grant.format,
        "name": agent.name,
        "state": grant.state,
        "scopesLower": [*grant.scopes_lower],
        "scopesUpper": upper if isinstance(upper, str) else [*upper],
        "extras": [*grant.extras],
        "limits": [*grant.limits],
        "tokens": tokens,
        "problems": problems,
    }


def problem_lines(path: str, grant: Grant) -> list[str]:
    """Return one line for each problem, with its place."""
    return [
        f"{path}:{one.line}:{one.column}: {one.message}{f'; {one.help}' if one.help else ''}"
        for one in grant.problems
    ]


def failure_data(path: str, error: SourceError) -> JsonObject:
    """Return why a file cannot be read, as JSON."""
    return {"file": path, "code": error.code, "message": error.message, "help": error.help}


def failure_line(error: SourceError) -> str:
    """Return one line for a file that cannot be read."""
    return f"{error.message}{f'; {error.help}' if error.help else ''}"


def change_lines(source: str, target: str, changes: Sequence[Change]) -> list[str]:
    """Return one line for each change, with its place."""
    return [
        f"{target if one.effect == 'adds' else source}:{one.line}:{one.column}: "
        f"{one.effect} {one.name} ({one.detail})"
        for one in changes
    ]


def verdict_data(
    source: str, target: str, verdict: Verdict, changes: Sequence[Change]
) -> JsonObject:
    """Return a comparison as JSON."""
    listed: list[JsonValue] = [
        {
            "effect": one.effect, "name": one.name, "detail": one.detail,
            "line": one.line, "column": one.column,
        }
        for one in changes
    ]  # fmt: skip
    return {
        "source": source,
        "target": target,
        "verdict": verdict.outcome,
        "widened": None if verdict.widened is None else [*verdict.widened],
        "dropped": [*verdict.dropped],
        "reasons": [*verdict.reasons],
        "changes": listed,
    }
