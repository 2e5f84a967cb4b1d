"""Optional tools around the company: services, routines, skills, secrets, administration, tests.

Above: the catalog. Below: the descriptor.
"""

from __future__ import annotations

from typing import Final

from agentctl.catalog.descriptor import WORKING, Descriptor, Redacted, Redaction, tool
from agentctl.catalog.schemas import anything, closed, one_of, some_text, text, texts_by_name

_EVERYWHERE: Final[tuple[Redacted, ...]] = ("input", "output", "error", "authorization_record")
_ANSWERED: Final[tuple[Redacted, ...]] = ("output", "error", "authorization_record")

_WORKSPACE: Final = (
    tool(
        "get_workspace_runtime",
        "Read the workspace's services",
        "Read which services run in the workspace of your task, and how they are.",
        closed({}),
        group="workspace_runtime",
        claim="workspace:read",
    ),
    tool(
        "control_workspace_service",
        "Control a service",
        "Start or stop a service in the workspace of your task, or report that it has failed.",
        closed(
            {
                "serviceId": some_text(),
                "action": one_of("start", "stop", "fail"),
                "url": text(),
            },
            optional=("url",),
        ),
        effect="workspace_control",
        modes=WORKING,
        group="workspace_runtime",
        claim="workspace:control",
    ),
)

_ROUTINES: Final = (
    tool(
        "list_routines",
        "List routines",
        "List the routines: work that an outside scheduler starts again and again.",
        closed({}),
        modes=WORKING,
        group="routines",
        claim="routines:read",
    ),
    tool(
        "manage_routine",
        "Manage a routine",
        "Record a change of a routine for the scheduler that runs it. Nothing is started.",
        closed({}),
        effect="admin",
        modes=WORKING,
        group="routines",
        claim="routines:write",
    ),
)

_SKILLS: Final = (
    tool(
        "list_company_skills",
        "List skills",
        "List the skills that the company's agents share.",
        closed({}),
        modes=WORKING,
        group="company_skills",
        claim="company_skills:read",
    ),
    tool(
        "sync_company_skills",
        "Bring skills up to date",
        "Bring the shared skills up to date with their sources.",
        closed({}),
        effect="admin",
        modes=WORKING,
        group="company_skills",
        claim="company_skills:write",
    ),
)

_SECRETS: Final = (
    tool(
        "list_secret_metadata",
        "List secrets",
        "List the names of the secrets and what they are for, without any value.",
        closed({}),
        modes=WORKING,
        group="secrets",
        claim="secrets:metadata:read",
    ),
    tool(
        "read_secret_value",
        "Read a secret",
        "Read the value of one secret. Use it where it is needed and repeat it nowhere: every "
        "record shows a placeholder instead.",
        closed({"name": some_text()}),
        effect="secret_read",
        modes=WORKING,
        group="secrets",
        claim="secrets:values:read",
        redaction=(Redaction("$.value", "[SECRET_VALUE]", _ANSWERED),),
    ),
)

_ADMINISTRATION: Final = (
    tool(
        "export_company",
        "Export the company",
        "Write everything about the company that may leave it to an export.",
        closed({}),
        effect="admin",
        modes=WORKING,
        group="portability_admin",
        claim="portability:export",
    ),
    tool(
        "administer_company",
        "Administer the company",
        "Carry out one named act of administration.",
        closed({"action": some_text(), "payload": anything()}, optional=("payload",)),
        effect="admin",
        modes=WORKING,
        group="portability_admin",
        claim="company:admin",
        roles=("board", "ceo", "admin"),
    ),
)

_TESTS: Final = (
    tool(
        "generic_api_request",
        "Send a request as a test",
        "Send a request to one of the targets that a test allows. It exists in tests alone.",
        closed(
            {
                "method": some_text(),
                "path": some_text(),
                "headers": texts_by_name(),
                "body": anything(),
            },
            optional=("headers", "body"),
        ),
        effect="test_escape_hatch",
        modes=("skill_test",),
        group="test_escape_hatch",
        claim="test:generic_api_request",
        redaction=(
            Redaction("$.headers.authorization", "[REDACTED]", _EVERYWHERE),
            Redaction("$.headers.cookie", "[REDACTED]", _EVERYWHERE),
        ),
    ),
)

COMPANY: Final[tuple[Descriptor, ...]] = (
    *_WORKSPACE,
    *_ROUTINES,
    *_SKILLS,
    *_SECRETS,
    *_ADMINISTRATION,
    *_TESTS,
)
