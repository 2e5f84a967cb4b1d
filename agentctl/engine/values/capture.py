"""Variable files: captured as bytes before compilation, then read as data.

Above: the compiler and the CLI. Below: the `SourceReader` port, which opens files safely, and
the reader of documents, which parses them. Never: opening a file here.

A run keeps the captured bytes, so that resume, retry, replay and fork need no file again;
`CapturedSources` then stands in for the file system.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from attr import field, frozen

from agentctl.diagnostics import Diagnostic
from agentctl.engine.expression import json_type
from agentctl.engine.values.layers import check_names
from agentctl.errors import DocumentError, SourceError, SourceMissing
from agentctl.value import Value

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from agentctl.engine.values.layers import Owner
    from agentctl.jsonvalue import JsonObject, JsonValue

# A variable file is a leaf: it may not pull in others.
FORBIDDEN_FILE_KEYS: Final = ("include", "includes", "varsFiles")


class SourceReader(Protocol):
    """Reads the files that documents name."""

    def read(self, path: str, base: str) -> bytes:
        """Return a file's bytes; `path` is relative to the directory `base`.

        Raises SourceError with what is wrong and, where possible, what to do.
        """
        ...


class DataReader(Protocol):
    """Parses UTF-8 YAML or JSON without duplicate keys."""

    def __call__(self, raw: bytes, file: str) -> JsonValue:
        """Return the value; raises DocumentError with every problem."""
        ...


@frozen(kw_only=True, eq=False, repr=False)
class SourceReference(Value):
    """One use of a file: the path as written, where it is written, and what it is relative to."""

    path: str
    place: str
    base: str = ""


@frozen(eq=False, repr=False)
class CapturedSources(Value):
    """The files of an earlier capture, by base and path; a SourceReader."""

    contents: Mapping[tuple[str, str], bytes] = field(factory=dict)

    def read(self, path: str, base: str) -> bytes:
        """Return the captured bytes; raises SourceMissing when they were never captured."""
        found = self.contents.get((base, path))
        if found is None:
            raise SourceMissing(f"{path!r} was not captured when the run was created")
        return found


def owner_references(owner: Owner, base: str = "") -> list[SourceReference]:
    """Return the file references of one owner of variables."""
    return [
        SourceReference(path=path, place=f"{owner.place}.varsFiles[{index}]", base=base)
        for index, path in enumerate(owner.files)
    ]


def capture(
    references: Iterable[SourceReference], reader: SourceReader, *, file: str
) -> tuple[dict[str, bytes], list[Diagnostic]]:
    """Read every referenced file; return the bytes by place, and a problem for each failure."""
    captured: dict[str, bytes] = {}
    problems: list[Diagnostic] = []
    for one in references:
        try:
            captured[one.place] = _read(one, reader)
        except SourceError as error:
            problems.append(_problem(file, one.place, error.message, error.help))
    return captured, problems


def read_variables(
    raw: bytes, *, name: str, place: str, read_data: DataReader, file: str
) -> tuple[JsonObject, list[Diagnostic]]:
    """Read a variable file; return its variables and every problem.

    `name` is the file's own name for diagnostics about its content; `file` and `place` say
    where it is referenced.
    """
    try:
        value = read_data(raw, name)
    except DocumentError as error:
        return {}, list(error.diagnostics)
    if not isinstance(value, dict):
        text = f"{name} must hold an object of variables, not {json_type(value)}"
        return {}, [_problem(file, place, text)]
    problems = [
        Diagnostic(
            code="source_error",
            message=f"{key!r} is not allowed in a variable file",
            file=name,
            path=key,
            help="list every file in the workflow's varsFiles",
        )
        for key in FORBIDDEN_FILE_KEYS
        if key in value
    ]
    problems += check_names(value, file=name, place="vars")
    return value, problems


def _read(one: SourceReference, reader: SourceReader) -> bytes:
    if "${{" in one.path:
        raise SourceError(
            "a template cannot stand in the path of a file",
            help="name the file itself; files are captured before anything is rendered",
        )
    return reader.read(one.path, one.base)


def _problem(file: str, place: str, message: str, help: str | None = None) -> Diagnostic:
    return Diagnostic(code="source_error", message=message, file=file, path=place, help=help)
