"""Compiling texts in tests, with files from a mapping."""

from __future__ import annotations

from pathlib import Path
from posixpath import join, normpath
from typing import TYPE_CHECKING

from agentctl.effects.sources import SourceFiles
from agentctl.engine.compiler.pipeline import compile_workflow
from agentctl.engine.compiler.source import CompileResult, CompileSource
from agentctl.engine.document.model import Workflow
from agentctl.engine.document.reader import read_document
from agentctl.errors import SourceMissing

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from agentctl.diagnostics import Diagnostic
    from agentctl.engine.compiler.source import KnownAction
    from agentctl.engine.values.capture import SourceReader

ROOT = Path(__file__).parents[2]
SHARED = (ROOT / "../shared").resolve()
EXAMPLES = SHARED / "examples"


class TextFiles:
    """A file system in a mapping, for tests that need files but no disk."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._texts = texts

    def read(self, path: str, base: str) -> bytes:
        """Return a text's bytes."""
        name = normpath(join(base, path))
        if name not in self._texts:
            raise SourceMissing(f"{path!r} does not exist")
        return self._texts[name].encode("utf-8")


def compile_bytes(
    raw: bytes,
    reader: SourceReader,
    *,
    file: str = "workflow.yaml",
    overrides: Collection[str] = (),
    known: Mapping[str, KnownAction] | None = None,
) -> CompileResult:
    """Read and compile a document; what the reader finds stands before what the compiler finds."""
    read = read_document(raw, file)
    if not isinstance(read.document, Workflow):
        return CompileResult(plan=None, diagnostics=read.diagnostics)
    made = compile_workflow(
        CompileSource(
            document=read.document,
            file=file,
            places=read.places,
            reader=reader,
            overrides=overrides,
            known_actions=known or {},
        )
    )
    return CompileResult(
        plan=made.plan,
        diagnostics=[*read.diagnostics, *made.diagnostics],
        layers=made.layers,
    )


def compile_text(
    text: str,
    *,
    files: Mapping[str, str] | None = None,
    overrides: Collection[str] = (),
    known: Mapping[str, KnownAction] | None = None,
) -> CompileResult:
    """Compile a text, with other files from a mapping."""
    reader = TextFiles(files or {})
    return compile_bytes(text.encode("utf-8"), reader, overrides=overrides, known=known)


def compile_file(path: Path) -> CompileResult:
    """Compile a file on disk."""
    return compile_bytes(path.read_bytes(), SourceFiles(path.parent), file=path.name)


def marked(text: str) -> tuple[str, int, int]:
    """Take the mark out of a text; return the text and the mark's line and column, from 1."""
    before, mark, after = text.partition("«")
    if not mark:
        return text, 0, 0
    return before + after, before.count("\n") + 1, len(before) - before.rfind("\n")


def problems(result: CompileResult) -> Sequence[Diagnostic]:
    """Return the errors of a result."""
    return [one for one in result.diagnostics if one.severity == "error"]
