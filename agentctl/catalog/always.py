"""The tools that every agent has: all of them are about the task it works on, and no other.

Above: the catalog. Below: the descriptor.
"""

from __future__ import annotations

from typing import Final

from agentctl.catalog.descriptor import DRAFTING, WORKING, Descriptor, tool
from agentctl.catalog.schemas import (
    anything,
    closed,
    integer,
    list_of,
    one_of,
    some_text,
    text,
    text_or_null,
)

_READING: Final = (
    tool(
        "get_task_context",
        "Read the task",
        "Read your task: its goal, its state, what it depends on and who takes part.",
        closed({}),
    ),
    tool(
        "get_task_history",
        "Read the task's history",
        "Read what has happened on your task so far, the latest first; `limit` bounds the number "
        "of entries.",
        closed({"limit": integer(1)}, optional=("limit",)),
    ),
    tool(
        "list_documents",
        "List documents",
        "List the documents of your task, each with its key, title and current revision.",
        closed({}),
    ),
    tool(
        "read_document",
        "Read a document",
        "Read the current text of one document of your task. The answer names the revision that "
        "a later write must be based on.",
        closed({"key": some_text()}),
    ),
    tool(
        "list_document_revisions",
        "List a document's revisions",
        "List all revisions of one document of your task, counted from 1, with what changed.",
        closed({"key": some_text()}),
    ),
)

_TELLING: Final = (
    tool(
        "report_progress",
        "Report progress",
        "Tell the people who follow your task how far you are. The task stays open.",
        closed({"body": some_text()}),
        effect="task_write",
    ),
    tool(
        "answer_status_question",
        "Answer a status question",
        "Answer somebody who asks how your task is going. The state of the task does not change.",
        closed({"body": some_text()}),
        effect="task_write",
    ),
)

_ENDING: Final = (
    tool(
        "finish_task",
        "Finish the task",
        "Say that your task is done, and sum up the result. This ends your turn on the task.",
        closed({"summary": some_text()}),
        effect="task_write",
        modes=WORKING,
    ),
    tool(
        "block_task",
        "Block the task",
        "Say that you cannot go on, and why; name the tasks you wait for, if there are any. This "
        "ends your turn on the task.",
        closed(
            {"reason": some_text(), "blockedByTaskIds": list_of(some_text())},
            optional=("blockedByTaskIds",),
        ),
        effect="task_write",
        modes=WORKING,
    ),
    tool(
        "request_review",
        "Request a review",
        "Ask for a review of what you did, and sum it up for the reviewer. This ends your turn on "
        "the task; a task that is in review already cannot be handed in again.",
        closed({"summary": some_text()}),
        effect="task_write",
        modes=WORKING,
    ),
)

_HANDING_IN: Final = (
    tool(
        "write_document",
        "Write a document",
        "Create or replace one document of your task. Give null as `baseRevisionId` to create it; "
        "later, give the revision you have read, and the write is refused if there is a newer "
        "one.",
        closed(
            {
                "key": some_text(),
                "title": some_text(),
                "body": text(),
                "baseRevisionId": text_or_null(),
                "changeSummary": text(),
            },
            optional=("changeSummary",),
        ),
        effect="task_write",
        modes=DRAFTING,
    ),
    tool(
        "request_human_input",
        "Ask a person",
        "Ask a person to confirm, to choose, to answer questions, or to judge proposals. The task "
        "waits in review until the person has answered.",
        closed(
            {
                "interactionKind": one_of(
                    "confirmation", "checkbox", "questions", "suggest_tasks", "item_verdicts"
                ),
                "title": some_text(),
                "prompt": some_text(),
                "payload": anything(),
                "targetRevisionId": text_or_null(),
                "continuationPolicy": one_of("none", "wake_assignee", "wake_assignee_on_accept"),
            },
            optional=("payload", "targetRevisionId"),
        ),
        effect="task_write",
        modes=DRAFTING,
    ),
    tool(
        "register_deliverable",
        "Hand in a deliverable",
        "Hand in a file as a result of your task, with its size in bytes and the SHA-256 of its "
        "content.",
        closed(
            {
                "filename": some_text(),
                "contentType": some_text(),
                "byteSize": integer(0),
                "sha256": some_text(),
                "contentRef": some_text(),
                "title": some_text(),
            }
        ),
        effect="task_write",
        modes=DRAFTING,
    ),
)

_ASKING_BACK: Final = (
    tool(
        "inspect_operation_result",
        "Look up a result",
        "Look up what an earlier call of this run has answered, by its result id. Use it instead "
        "of calling again when you do not know whether a call has happened.",
        closed({"operationResultId": some_text()}),
    ),
)

ALWAYS: Final[tuple[Descriptor, ...]] = (
    *_READING,
    *_TELLING,
    *_ENDING,
    *_HANDING_IN,
    *_ASKING_BACK,
)
