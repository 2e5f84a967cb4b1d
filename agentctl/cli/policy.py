"""What a policy says of each task, for people: a table with the lines that decide.

Above: `agentctl explain policy`. Below: the engine's view of a policy, and the document's text,
which is read once more to find the lines.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from agentctl.cli.paint import facts, paint, table, visible

if TYPE_CHECKING:
    from agentctl.jsonvalue import JsonObject
    from agentctl.loading import Loaded

_WORDS: Final = {
    "allowed": ("allows", "green"),
    "asks": ("asks a person", "yellow"),
    "denied": ("denies", "red"),
}
_UNATTENDED: Final = {
    "pause": "the run pauses and exits 3",
    "deny_approval": "the task fails",
    "fail": "the run fails",
}


def located(view: JsonObject, loaded: Loaded) -> JsonObject:
    """Return a view with file, line and column of every rule."""
    from agentctl.engine.document.reader import read_document

    places = read_document(loaded.text.encode("utf-8"), loaded.file).places
    for task in cast("list[JsonObject]", view["tasks"]):
        for one in cast("list[JsonObject]", task["requests"]):
            line, column = places.locate(cast("str", one["rule"]))
            one.update(file=loaded.file, line=line, column=column)
    return view


def human(view: JsonObject, *, colour: bool) -> str:
    """Return the policy, and a line for every effect that a task may ask for."""
    tasks = cast("list[JsonObject]", view["tasks"])
    rows = [
        _row(str(task["task"]), one, colour=colour)
        for task in tasks
        for one in cast("list[JsonObject]", task["requests"])
    ]
    silent = sum(not task["requests"] for task in tasks)
    parts = [_head(cast("JsonObject", view["policy"]))]
    if rows:
        parts.append(table(("task", "may ask for", "class, risk", "policy", "because"), rows))
    if silent:
        parts.append(f"{silent} {'task asks' if silent == 1 else 'tasks ask'} for nothing outside")
    return "\n".join(parts)


def _head(policy: JsonObject) -> str:
    expires = policy["approvalExpiresSeconds"]
    pairs = [
        ("approval", str(policy["approval"])),
        ("off a terminal", _UNATTENDED[cast("str", policy["nonInteractive"])]),
        ("a question", "stays open" if expires is None else f"expires after {expires} s"),
    ]
    return facts(pairs)


def _row(task: str, one: JsonObject, *, colour: bool) -> tuple[str, ...]:
    word, hue = _WORDS[cast("str", one["verdict"])]
    tool = f" (tool {one['tool']})" if one["tool"] else ""
    place = ":".join(str(part) for part in (one["file"], one["line"], one["column"]) if part)
    return (
        task,
        f"{one['operation']}{tool}",
        f"{one['effectClass']}, {one['risk']}",
        paint(word, hue, on=colour),
        visible(f"{one['reason']} ({place})"),
    )
