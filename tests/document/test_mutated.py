"""Damaged documents give a plan or placed diagnostics, whatever the damage."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentctl.diagnostics import has_errors
from agentctl.engine.document.migration import migrate_text
from agentctl.engine.document.reader import read_document
from agentctl.engine.values.capture import CapturedSources
from tests.compiler.compiling import compile_bytes
from tests.document.reading import EXAMPLES, PLAYBOOK

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentctl.engine.compiler.source import CompileResult

EXAMPLES_OF_EACH = 400
NAMES = [
    "v1/a2a.yaml",
    "v1/approval.yaml",
    "v1/check-diff.yaml",
    "v1/compensation.yaml",
    "v1/condition.yaml",
    "v1/dataflow.yaml",
    "v1/fake-provider.yaml",
    "v1/hello.yaml",
    "v1/long-term-memory.yaml",
    "v1/loop.yaml",
    "v1/matrix.yaml",
    "v1/mcp.yaml",
    "v1/openai-live.yaml",
    "v1/parallel.yaml",
    "v1/process-isolation.yaml",
    "v1/resource-budget.yaml",
    "v1/reusable-pack.yaml",
    "v1/router.yaml",
    "v1/secret-reference.yaml",
    "v1/streaming.yaml",
    "v1/subworkflow.yaml",
    "v1/working-memory.yaml",
    "v1/example.pack.yaml",
    "docs/release-readiness/workflow.yaml",
    "fixtures/compat/v0/assign.playbook.yaml",
]
PIECES = [
    one.encode()
    for one in [
        "${{ ",
        "${{ inputs.x }}",
        " }}",
        "&a ",
        "*a",
        "- ",
        ": ",
        "\n",
        "  ",
        "null",
        "~",
        "yes",
        "1e999",
        "[",
        "]",
        "{",
        "}",
        '"',
        "'",
        "!!x ",
        "<<: ",
        "0",
        "-1",
        "99999999999999999999",
        "true",
        "tasks:",
        ">\n",
        "#",
        "\t",
        "..",
        "/",
        "with: ",
        "\\ud800",
        "é",
        "\u2028",
        "foreach",
        "loop",
    ]
]
PIECES += [b"\xff", b"\0", b"\xef\xbb\xbf", b"|", b"? ", b"---\n", b"[" * 200, b"9" * 500]


def flip(raw: bytearray, at: int, choice: int) -> None:
    """Change one bit."""
    raw[at] ^= 1 << (choice % 8)


def insert(raw: bytearray, at: int, choice: int) -> None:
    """Add a piece anywhere."""
    raw[at:at] = PIECES[choice % len(PIECES)]


def remove(raw: bytearray, at: int, choice: int) -> None:
    """Take a few bytes away."""
    del raw[at : at + 1 + choice % 12]


def truncate(raw: bytearray, at: int, choice: int) -> None:
    """End the text early."""
    del raw[max(at, 1) :]


def put_value(raw: bytearray, at: int, choice: int) -> None:
    """Replace what stands behind a key."""
    start = raw.find(b":", at) + 1
    end = raw.find(b"\n", start)
    if start and end > 0:
        raw[start:end] = b" " + PIECES[choice % len(PIECES)]


def drop_line(raw: bytearray, at: int, choice: int) -> None:
    """Take a whole line away."""
    lines = raw.split(b"\n")
    del lines[at % len(lines)]
    raw[:] = b"\n".join(lines)


def repeat_line(raw: bytearray, at: int, choice: int) -> None:
    """Copy a line to another place."""
    lines = raw.split(b"\n")
    lines.insert(choice % (len(lines) + 1), lines[at % len(lines)])
    raw[:] = b"\n".join(lines)


CHANGES: list[Callable[[bytearray, int, int], None]] = [
    put_value, drop_line, repeat_line, insert, remove, flip, truncate
]  # fmt: skip
EDITS = st.lists(
    st.tuples(st.sampled_from(CHANGES), st.integers(0, 4095), st.integers(0, 4095)),
    min_size=1,
    max_size=3,
)


def compiled(raw: bytes) -> CompileResult:
    """Read and compile a text; packs are read alone."""
    return compile_bytes(raw, CapturedSources())


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=EXAMPLES_OF_EACH, database=None, suppress_health_check=list(HealthCheck))
@given(EDITS)
def test_a_damaged_document_gives_a_plan_or_diagnostics(
    name: str, edits: list[tuple[Callable[[bytearray, int, int], None], int, int]]
) -> None:
    raw = bytearray((EXAMPLES / name).read_bytes())
    for change, at, choice in edits:
        if raw:
            change(raw, at % len(raw), choice)
    result = compiled(bytes(raw))
    if result.plan is None and b"agentctl.dev/pack" not in raw:
        assert has_errors(list(result.diagnostics))
    for one in result.diagnostics:
        assert one.message
        assert one.file is not None
        assert one.line
        assert one.column


@settings(max_examples=EXAMPLES_OF_EACH, database=None)
@given(EDITS)
def test_a_migrated_playbook_reads_as_what_it_was(
    edits: list[tuple[Callable[[bytearray, int, int], None], int, int]],
) -> None:
    raw = bytearray(PLAYBOOK.read_bytes())
    for change, at, choice in edits:
        if raw:
            change(raw, at % len(raw), choice)
    before = read_document(bytes(raw), "old.yaml")
    text, problems = migrate_text(bytes(raw), "old.yaml")
    assert (text is None) == has_errors(problems)
    if text is None:
        assert before.document is None or not before.legacy
        return
    after = read_document(text.encode(), "new.yaml")
    assert after.diagnostics == []
    assert after.document == before.document
    again, _ = migrate_text(text.encode(), "new.yaml")
    assert again is None
