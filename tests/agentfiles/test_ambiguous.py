"""Rows of the shared vectors that say of themselves that they are open: each has its decision."""

from __future__ import annotations

from agentctl.agentfiles.reading import read_grants
from tests.agentfiles.test_read_grants import recipe
from tests.agentfiles.vectors import document, name
from tests.cli.harness import ROOT

# The rows, by their notes, and the question of the page that decides each.
QUESTIONS = {
    "an entry of goose that cannot be read, even with a list of tools": [
        "unparsed with allowlist still wide"
    ],
    "`available_tools: []` on `developer`": [
        "developer empty allowlist handed in directly = unrestricted in Goose"
    ],
    "tools of `developer` outside `write`, `edit`, `shell`, `tree`": [
        "developer web_fetch",
        "developer mixed known/unknown",
    ],
    "`analyze` with a list that does not name its one tool": [
        "analyze allowlist names other tool"
    ],
    "some tools of `agentteams_readfs`": ["readfs read_file only"],
    "`summon`, `todo` or `agentteams_readfs` with `[__none__]`": [
        "readfs disabled",
        "summon disabled",
        "todo disabled",
    ],
    "`agentteams_readfs` that starts another program": ["readfs name, other program"],
    "a `stdio` program named `developer`, `summon`, `todo` or `analyze`": [
        "stdio named developer"
    ],
    "`Developer`, or a name with blanks": ["name with capitals"],
    "`memory` and other builtins without a scope": ["unknown builtin memory"],
    "`code_execution`, `extensionmanager`, `computercontroller`, `scheduler`, inline code": [
        "code_execution platform",
        "extensionmanager platform (can enable others)",
    ],
}
OPEN = [row for row in document()["vectors"] if row.get("ambiguous")]


def decided() -> dict[str, list[str]]:
    """Return the table of the page: each question with its decision and reason."""
    page = (ROOT / "docs" / "agent-files.md").read_text(encoding="utf-8")
    _, _, rest = page.partition("| question | decision | reason |\n")
    table, _, _ = rest.partition("\n\n")
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()]
    return {row[0]: row[1:] for row in rows}


def test_every_open_row_is_decided_on_the_page_with_a_reason() -> None:
    asked = sorted(note for notes in QUESTIONS.values() for note in notes)
    assert asked == sorted(row["note"] for row in OPEN)
    for question in QUESTIONS:
        decision, reason = decided()[question]
        assert decision
        assert reason


def test_what_is_decided_as_everything_or_nothing_is_read_so() -> None:
    notes = {note: question for question, listed in QUESTIONS.items() for note in listed}
    for row in OPEN:
        decision, _ = decided()[notes[row["note"]]]
        grant = read_grants(recipe(row["args"][0]), "goose")
        if decision == "surely nothing, at most all":
            assert (grant.scopes_lower, grant.scopes_upper) == ((), "all"), name(row)
        elif decision == "nothing":
            assert (grant.scopes_lower, grant.scopes_upper) == ((), ()), name(row)
