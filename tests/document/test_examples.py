"""Real files are read unchanged."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agentctl.engine.document.model import Workflow
from agentctl.engine.document.normal import to_json
from agentctl.engine.document.pack_model import PackManifest
from agentctl.engine.document.reader import read_document, read_pack_lock
from agentctl.jsonvalue import canonical
from tests.document.reading import EXAMPLES, FILES, LOCK, PLAYBOOK

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_an_example_is_read_without_errors(path: Path) -> None:
    result = read_document(path.read_bytes(), path.name)
    codes = [one.code for one in result.diagnostics]
    assert codes == (["migration_required"] if path == PLAYBOOK else [])
    wanted = PackManifest if b"agentctl.dev/pack/" in path.read_bytes() else Workflow
    assert isinstance(result.document, wanted)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_the_normal_form_of_an_example_reads_as_the_same_document(path: Path) -> None:
    document = read_document(path.read_bytes(), path.name).document
    again = read_document(canonical(to_json(document)).encode(), path.name)
    assert again.diagnostics == []
    assert again.document == document


def test_a_lock_file_is_read() -> None:
    lock, problems = read_pack_lock(LOCK.read_bytes(), LOCK.name)
    assert problems == []
    assert lock is not None
    assert [(one.name, one.version) for one in lock.packs] == [
        ("example.base", "1.1.0"),
        ("example.utility", "1.0.0"),
    ]
    assert lock.packs[1].dependencies == {"example.base": "1.1.0"}


def test_a_lock_file_is_no_workflow_and_says_so() -> None:
    (problem,) = read_document(LOCK.read_bytes(), LOCK.name).diagnostics
    assert problem.code == "unsupported_version"
    assert "lock file" in str(problem.help)


def test_a_pack_of_the_present_version_is_read() -> None:
    raw = (EXAMPLES / "v1/example.pack.yaml").read_bytes().replace(b"pack/v1alpha1", b"pack/v1")
    assert isinstance(read_document(raw, "pack.yaml").document, PackManifest)
