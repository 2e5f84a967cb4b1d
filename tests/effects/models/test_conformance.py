"""Every adapter in every case, against a server that speaks its protocol.

What was observed is the table of `docs/conformance.md`: a cell fails when it says something else
there.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from agentctl.providers import PROVIDERS
from tests.effects.models.answer_cases import ANSWERS
from tests.effects.models.asking import ADAPTERS
from tests.effects.models.dialects import DIALECTS
from tests.effects.models.failure_cases import FAILURES

PAGE = Path(__file__).parents[3] / "docs" / "conformance.md"
CASES = {**ANSWERS, **FAILURES}
KINDS = tuple(ADAPTERS)
HEAD = f"| case | {' | '.join(f'`{one}`' for one in KINDS)} |\n{'| --- ' * (len(KINDS) + 1)}|\n"
_BEGIN, _END = "<!-- cases -->\n", "<!-- end of cases -->\n"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", CASES)
def test_an_adapter_does_in_a_case_what_the_table_says(name: str, kind: str) -> None:
    compare(name, kind, CASES[name](kind))


def test_the_table_has_a_cell_for_every_adapter_in_every_case_and_no_other() -> None:
    (page,) = PAGE.read_text(encoding="utf-8").split(_BEGIN)[1:]
    body = page.partition(_END)[0]
    assert body.startswith(HEAD)
    rows = table()
    assert list(rows) == list(CASES)
    assert all(list(row) == list(KINDS) and all(row.values()) for row in rows.values())


def test_every_remote_provider_has_its_column_and_no_case_its_name_twice() -> None:
    assert set(KINDS) == {one.kind for one in PROVIDERS.values() if one.is_remote}
    assert set(KINDS) == set(DIALECTS)
    assert len(CASES) == len(ANSWERS) + len(FAILURES) >= 25


def table() -> dict[str, dict[str, str]]:
    """Return the page's cells by case and adapter."""
    body = PAGE.read_text(encoding="utf-8").partition(_BEGIN)[2].partition(_END)[0]
    rows = [line.strip("|").split("|") for line in body.splitlines()[2:]]
    return {
        name.strip(): dict(zip(KINDS, (one.strip() for one in cells), strict=True))
        for name, *cells in rows
    }


def compare(name: str, kind: str, cell: str) -> None:
    """Hold a cell against the page; AGENTCTL_REWRITE=1 puts it there."""
    rows = table()
    if os.environ.get("AGENTCTL_REWRITE") == "1":
        rows[name] = {**rows.get(name, dict.fromkeys(KINDS, "")), kind: cell}
        write(rows)
    assert rows.get(name, {}).get(kind) == cell, "set AGENTCTL_REWRITE=1 to accept it"


def write(rows: dict[str, dict[str, str]]) -> None:
    """Put the cells of the declared cases on the page."""
    lines = [f"| {one} | {' | '.join(rows[one].values())} |\n" for one in CASES if one in rows]
    head, _, rest = PAGE.read_text(encoding="utf-8").partition(_BEGIN)
    tail = rest.partition(_END)[2]
    PAGE.write_text(f"{head}{_BEGIN}{HEAD}{''.join(lines)}{_END}{tail}", encoding="utf-8")
