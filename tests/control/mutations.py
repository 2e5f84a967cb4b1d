"""Every operation that changes something, with the calls that lead to it and the claims it needs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.control.working import Call

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


# The last call of each script is the one of that operation.
SCRIPTS: dict[str, tuple[Call, ...]] = {
    "report_progress": (("report_progress", BODY),),
    "answer_status_question": (("answer_status_question", BODY),),
    "finish_task": (("report_progress", BODY), ("finish_task", {"summary": "done"})),
    "block_task": (("block_task", {"reason": "no data"}),),
    "request_review": (("request_review", {"summary": "look"}),),
    "write_document": (written("one", None), written("two", "brief@1")),
    "request_human_input": (("request_human_input", QUESTION),),
    "register_deliverable": (("register_deliverable", DELIVERABLE),),
}
CATALOG: dict[str, Any] = {}
"""What the scripted agent is granted."""
