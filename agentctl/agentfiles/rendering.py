"""Write an agent, or a grant alone, in a format, and prove that it grants no more.

Above: the interchange document and the commands. Below: one renderer per kind of format, the
check and the reader. What was written is read again and compared; a format that cannot say a
grant, or less, refuses.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agentctl.agentfiles.agent import AgentFile
from agentctl.agentfiles.check import check_no_widening
from agentctl.agentfiles.reading import read_grants
from agentctl.agentfiles.renderers import lists, whole_files
from agentctl.errors import WideningRefused

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentctl.agentfiles.check import Verdict
    from agentctl.agentfiles.model import Format, Grant

_RENDERERS: Final[dict[str, Callable[[AgentFile], str]]] = {
    "claude": lists.claude,
    "copilot": lists.copilot,
    "gemini": lists.gemini,
    "opencode": lists.opencode,
    "factory": lists.factory,
    "cursor": whole_files.cursor,
    "codex": whole_files.codex,
    "goose": whole_files.goose,
}


def render_grants(grant: Grant, format: Format) -> str:
    """Return the text of a file that grants as much of a grant as the format can say.

    Raises WideningRefused where the grant is not known, or the format cannot say less than more.
    """
    bare = AgentFile(
        format=grant.format, name="agent", description="An agent.", model=None,
        instructions="\n", handoffs=(), grant=grant, raw={},
    )  # fmt: skip
    return render_agent(bare, format)[0]


def render_agent(agent: AgentFile, format: Format) -> tuple[str, Verdict]:
    """Return an agent's text in a format, and how its grant compares. Raises WideningRefused."""
    grant = agent.grant
    if grant.state in ("inherits", "unreadable"):
        why = grant.problems[-1].message if grant.problems else "nothing is listed"
        help = "list the tools in the source file"
        raise WideningRefused(f"what the source grants cannot be told: {why}", help=help)
    renderer = _RENDERERS.get(format)
    if renderer is None:
        raise WideningRefused(f"{format} has no place for tools, so all would be inherited")
    text = renderer(agent)
    verdict = check_no_widening(grant, read_grants(text, format))
    if not verdict.is_within:
        raise WideningRefused(f"{format} cannot say this grant: {'; '.join(verdict.reasons)}")
    return text, verdict
