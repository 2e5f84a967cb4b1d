"""A question to a person as a person reads it: what would be done, and what that would change.

Above: `agentctl approvals` and the dialogue of `--interactive`. Below: the engine's view of a
question, and the workspace file that a write is about.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final, cast

from agentctl.cli.paint import duration, facts, paint, visible

if TYPE_CHECKING:
    from agentctl.door import Engine
    from agentctl.engine.records import ApprovalRecord, RunHistory
    from agentctl.jsonvalue import JsonObject

LINES_SHOWN: Final = 60
_LINE_CHARACTERS_SHOWN: Final = 2_000
_WRITES: Final = frozenset({"builtin.write", "builtin.workspace.write"})
_DIFF_COLOURS: Final = {"+": "green", "-": "red", "@": "cyan"}


def gather(engine: Engine, history: RunHistory, question: ApprovalRecord) -> JsonObject:
    """Return all that is known of a question; for a write, what it would change now."""
    from agentctl.clock import SystemClock
    from agentctl.engine.question_view import question_view

    journal = engine.store.transitions(history.run.id)
    found = question_view(history, question, journal, SystemClock().now())
    request = found["request"]
    change = None
    if isinstance(request, dict) and request["operation"] in _WRITES:
        from agentctl.effects.preview import preview_of_write

        definitions = cast("JsonObject", history.plan["definitions"])
        given = cast("JsonObject", request["input"])
        change = preview_of_write(given, history.run.workspace, definitions)
    return {**found, "change": change}


def human(found: JsonObject, *, colour: bool, lines: int | None = None) -> str:
    """Return a question as text; `lines` bounds what it shows of a request."""
    request = cast("JsonObject", found["request"] or {})
    pairs = [
        ("task", f"{found['taskId']}{_user(found)}"),
        ("operation", str(request.get("operation"))),
        ("class", f"{request.get('effectClass')}, risk {request.get('risk')}"),
        ("idempotency", _idempotency(str(request.get("idempotency")))),
        ("expires", expiry(cast("float | None", found["expiresInSeconds"])) or "never"),
    ]
    if not found["isIntact"]:
        pairs.append(("changed", "what is recorded now is not what was asked about"))
    shown = _change(found, colour=colour) or _arguments(request)
    return facts(pairs) + "\n" + "\n".join(_bounded(shown, lines))


def expiry(seconds_left: float | None) -> str:
    """Return in words how long a question stays open; "" when it does for ever."""
    if seconds_left is None:
        return ""
    if seconds_left > 0:
        return f"in {duration(seconds_left)}"
    return f"{duration(-seconds_left)} ago"


def _user(found: JsonObject) -> str:
    uses = found["uses"]
    return f" ({uses['kind']}:{uses['name']})" if isinstance(uses, dict) else ""


def _idempotency(declared: str) -> str:
    """Return a declared idempotency with what it means after a crash."""
    told = {
        "pure": "may be repeated",
        "idempotent": "may be repeated",
        "keyed": "may be repeated with its key",
    }
    return f"{declared}: after a crash it {told.get(declared, 'is not repeated without you')}"


def _change(found: JsonObject, *, colour: bool) -> list[str]:
    """Return what a write would change, or nothing for other effects."""
    change = found["change"]
    if not isinstance(change, dict):
        return []
    path = visible(str(cast("JsonObject", cast("JsonObject", found["request"])["input"])["path"]))
    if "problem" in change:
        return [f"writes {path}", visible(f"it would be refused: {change['problem']}")]
    if not change["changed"]:
        return [f"writes {path}", "the file holds exactly this already"]
    diff = change["diff"]
    if isinstance(diff, str):
        return [f"writes {path}", *(_painted(line, on=colour) for line in diff.splitlines())]
    before = cast("JsonObject | None", change["before"])
    after = cast("JsonObject", change["after"])
    was = "no file" if before is None else f"{before['bytes']} bytes, {before['sha256']}"
    told = f"no diff: before {was}; after {after['bytes']} bytes, {after['sha256']}"
    return [f"writes {path}", told]


def _painted(line: str, *, on: bool) -> str:
    return paint(visible(line), _DIFF_COLOURS.get(line[:1], ""), on=on)


def _arguments(request: JsonObject) -> list[str]:
    text = json.dumps(request.get("input"), ensure_ascii=False, indent=2)
    return ["arguments", *("  " + visible(line) for line in text.splitlines())]


def _bounded(shown: list[str], lines: int | None) -> list[str]:
    """Return the first lines, none of them endless, and how many are left out."""
    if lines is None:
        return shown
    kept = [_short(line) for line in shown[:lines]]
    left = len(shown) - len(kept)
    return [*kept, f"… {left} more lines"] if left else kept


def _short(line: str) -> str:
    left = len(line) - _LINE_CHARACTERS_SHOWN
    return line if left <= 0 else f"{line[:_LINE_CHARACTERS_SHOWN]}… {left} more characters"
