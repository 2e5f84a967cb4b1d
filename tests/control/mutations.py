"""Every operation that changes something, with the calls that lead to it and the claims it needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.control.working import EVERYTHING, kept, scripted

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.control.working import Call
    from tests.engine.harness import Bench

    Script = Callable[[Bench], tuple[Call, ...]]

DELIVERABLE = {
    "filename": "brief.md",
    "contentType": "text/markdown",
    "byteSize": 3,
    "sha256": "ab" * 32,
    "contentRef": "artifact:1",
    "title": "The brief",
}
QUESTION = {
    "interactionKind": "questions",
    "title": "Which one?",
    "prompt": "Which of the two do you want?",
    "payload": ["left", "right"],
    "continuationPolicy": "none",
}
BODY = {"body": "half way"}


def written(body: str, base: str | None, key: str = "brief") -> Call:
    """Return a call that writes a document."""
    given = {"key": key, "title": "Brief", "body": body, "baseRevisionId": base}
    return ("write_document", given)


def administer(action: str, **payload: str) -> Call:
    """Return a call that administers the company."""
    return ("administer_company", {"action": action, "payload": payload})


def requested(bench: Bench) -> str:
    """Have another agent request an approval; return its id."""
    call = ("request_approval", {"approvalType": "spend", "payload": {"amount": 20}})
    bench.run(scripted(call, name="planner", **EVERYTHING))
    (asked,) = kept(bench, "approval")
    return asked.id


def _always(*calls: Call) -> Script:
    return lambda _bench: calls


# The last call of each script is the one of that operation.
SCRIPTS: dict[str, Script] = {
    "report_progress": _always(("report_progress", BODY)),
    "answer_status_question": _always(("answer_status_question", BODY)),
    "finish_task": _always(("report_progress", BODY), ("finish_task", {"summary": "done"})),
    "block_task": _always(("block_task", {"reason": "no data"})),
    "request_review": _always(("request_review", {"summary": "look"})),
    "write_document": _always(written("one", None), written("two", "brief@1")),
    "request_human_input": _always(("request_human_input", QUESTION)),
    "register_deliverable": _always(("register_deliverable", DELIVERABLE)),
    "create_task": _always(("create_task", {"title": "Check the numbers"})),
    "set_dependencies": _always(("set_dependencies", {"blockedByTaskIds": []})),
    "request_approval": _always(("request_approval", {"approvalType": "spend", "payload": 1})),
    "decide_approval": lambda bench: (
        (
            "decide_approval",
            {"approvalId": requested(bench), "decision": "approved", "note": "fine"},
        ),
    ),
    "comment_on_approval": lambda bench: (
        ("comment_on_approval", {"approvalId": requested(bench), "body": "why?"}),
    ),
    "upsert_case": _always(
        ("upsert_case", {"key": "k", "body": "1"}), ("upsert_case", {"key": "k", "body": "2"})
    ),
    "control_workspace_service": _always(
        ("control_workspace_service", {"serviceId": "web", "action": "start", "url": "http://x"})
    ),
    "manage_routine": _always(("manage_routine", {})),
    "sync_company_skills": _always(
        administer("register_skill", name="summing", source="skills/summing.md"),
        ("sync_company_skills", {}),
    ),
    "export_company": _always(("report_progress", BODY), ("export_company", {})),
    "administer_company": _always(administer("register_goal", name="grow")),
}
