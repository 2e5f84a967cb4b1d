"""Optional tools around the work: discovery, delegation, governance, cases.

Above: the catalog. Below: the descriptor.
"""

from __future__ import annotations

from typing import Final

from agentctl.catalog.descriptor import WORKING, Descriptor, tool
from agentctl.catalog.schemas import anything, closed, list_of, one_of, some_text, text

_DISCOVERY: Final = (
    tool(
        "search_tasks",
        "Search tasks",
        "Find tasks by a text in them, or by their status.",
        closed({"query": text(), "status": text()}, optional=("query", "status")),
        group="discovery",
        claim="discovery:tasks:read",
    ),
    tool(
        "list_agents",
        "List agents",
        "List the agents that tasks can be given to, with their roles.",
        closed({}),
        group="discovery",
        claim="discovery:agents:read",
    ),
    tool(
        "list_projects",
        "List projects",
        "List the projects that tasks belong to.",
        closed({}),
        modes=WORKING,
        group="discovery",
        claim="discovery:projects:read",
    ),
    tool(
        "list_goals",
        "List goals",
        "List the goals that projects and tasks work towards.",
        closed({}),
        modes=WORKING,
        group="discovery",
        claim="discovery:goals:read",
    ),
)

_DELEGATION: Final = (
    tool(
        "create_task",
        "Create a task",
        "Create another task, and give it to an agent if you name one. It starts when the tasks "
        "that block it are done.",
        closed(
            {
                "title": some_text(),
                "description": text(),
                "assigneeActorId": text(),
                "priority": text(),
                "blockedByTaskIds": list_of(text()),
            },
            optional=("description", "assigneeActorId", "priority", "blockedByTaskIds"),
        ),
        effect="company_write",
        modes=WORKING,
        group="delegation_dependencies",
        claim="delegation:tasks:create",
    ),
    tool(
        "set_dependencies",
        "Set dependencies",
        "Say which tasks must be done before yours can go on. The list replaces the one before.",
        closed({"blockedByTaskIds": list_of(some_text())}),
        effect="company_write",
        modes=WORKING,
        group="delegation_dependencies",
        claim="dependencies:write",
    ),
)

_GOVERNANCE: Final = (
    tool(
        "list_approvals",
        "List approvals",
        "List the approvals that were requested, each with what was decided.",
        closed({}),
        group="governance",
        claim="governance:approvals:read",
    ),
    tool(
        "request_approval",
        "Request an approval",
        "Ask for an approval of a kind, with what has to be approved. Somebody else decides.",
        closed({"approvalType": some_text(), "payload": anything()}),
        effect="governance",
        modes=WORKING,
        group="governance",
        claim="governance:approvals:request",
    ),
    tool(
        "decide_approval",
        "Decide an approval",
        "Approve, reject or cancel what somebody else has requested, with the reason. Nobody "
        "decides about a request of their own.",
        closed(
            {
                "approvalId": some_text(),
                "decision": one_of("approved", "rejected", "cancelled"),
                "note": some_text(),
            }
        ),
        effect="governance",
        modes=WORKING,
        group="governance",
        claim="governance:approvals:decide",
        roles=("board", "approver", "security"),
    ),
    tool(
        "comment_on_approval",
        "Comment on an approval",
        "Add a comment to an approval. It decides nothing.",
        closed({"approvalId": some_text(), "body": some_text()}),
        effect="governance",
        group="governance",
        claim="governance:approvals:comment",
    ),
)

_CASES: Final = (
    tool(
        "list_cases",
        "List cases",
        "List the cases on record.",
        closed({}),
        modes=WORKING,
        group="cases",
        claim="cases:read",
    ),
    tool(
        "upsert_case",
        "Write a case",
        "Create the case with this key, or replace its text.",
        closed({"key": some_text(), "body": text()}),
        effect="company_write",
        modes=WORKING,
        group="cases",
        claim="cases:write",
    ),
)

WORK: Final[tuple[Descriptor, ...]] = (*_DISCOVERY, *_DELEGATION, *_GOVERNANCE, *_CASES)
