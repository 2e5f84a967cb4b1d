"""`agentctl tools`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from agentctl.catalog.bindings import Provider
from agentctl.catalog.descriptor import TaskMode
from agentctl.cli.command import command, make
from agentctl.cli.console import Console

if TYPE_CHECKING:
    from agentctl.catalog.descriptor import Descriptor
    from agentctl.catalog.exposure import Decision
    from agentctl.jsonvalue import JsonObject, JsonValue

app = make("tools", "Show the tools of the control plane, and which of them an agent sees.")

Names = list[str] | None
Groups = Annotated[
    Names, typer.Option("--group", metavar="NAME", help="Only this group; may be repeated.")
]
Name = Annotated[
    str, typer.Argument(metavar="NAME", help="A tool, such as `finish_task`.", show_default=False)
]
Binding = Annotated[
    Provider | None,
    typer.Option("--binding", help="Show it as this provider is told of it."),
]
OneName = Annotated[
    str | None,
    typer.Argument(metavar="NAME", help="Explain this one alone.", show_default=False),
]
Role = Annotated[str, typer.Option("--role", metavar="NAME", help="The agent's role.")]
Mode = Annotated[TaskMode, typer.Option("--mode", help="How the task is worked on.")]
Claims = Annotated[
    Names, typer.Option("--claim", metavar="CLAIM", help="Grant a claim; may be repeated.")
]
GrantedGroups = Annotated[
    Names,
    typer.Option(
        "--group", metavar="NAME", help="Grant only this group; may be repeated. [default: all]"
    ),
]
GrantedTools = Annotated[
    Names,
    typer.Option("--tool", metavar="NAME", help="Grant a tool of a group that is not granted."),
]
DeniedTools = Annotated[
    Names, typer.Option("--deny-tool", metavar="NAME", help="As if the policy denied a tool.")
]
DeniedClaims = Annotated[
    Names, typer.Option("--deny-claim", metavar="CLAIM", help="As if the policy denied a claim.")
]
SecretValues = Annotated[
    bool,
    typer.Option(
        "--allow-secret-values",
        help="As if the policy let agents read values of secrets.",
        show_default=False,
    ),
]


@command(app, "list")
def show_all(console: Console, group: Groups = None) -> int:
    """List the tools, in the order in which agents see them."""
    from agentctl.catalog.tools import CONTROL_PLANE_OWNED
    from agentctl.cli import tool_views

    tool_views.check_names({"--group": group})
    found = tool_views.listed(None if group is None else tool_views.chosen_groups(group))
    rows: list[JsonValue] = [tool_views.summary(one) for one in found]
    data: JsonObject = {"tools": rows, "controlPlaneOwned": [*CONTROL_PLANE_OWNED]}
    console.result("Tools", data, lambda: _listed(found))
    return 0


@command(app, "show")
def show(
    console: Console,
    name: Name,
    binding: Binding = None,
) -> int:
    """Show all that is fixed about a tool, or what one provider is told of it."""
    import json

    from agentctl.catalog.bindings import bind
    from agentctl.catalog.descriptor import descriptor_data
    from agentctl.cli import tool_views

    tool = tool_views.known_tool(name)
    if binding is None:
        console.result("Tool", descriptor_data(tool), lambda: _shown(tool))
        return 0
    (definition,) = bind(binding, [tool])
    data: JsonObject = {"provider": binding, "definition": definition}
    text = json.dumps(definition, ensure_ascii=False, indent=2)
    console.result("ToolBinding", data, lambda: text)
    return 0


@command(app, "explain")
def explain(
    console: Console,
    name: OneName = None,
    role: Role = "agent",
    mode: Mode = "standard",
    claim: Claims = None,
    group: GrantedGroups = None,
    tool: GrantedTools = None,
    deny_tool: DeniedTools = None,
    deny_claim: DeniedClaims = None,
    allow_secret_values: SecretValues = False,
) -> int:
    """Show which tools an agent with such a grant sees, and why it does not see the others."""
    from agentctl.catalog.exposure import decide, expose
    from agentctl.catalog.policy import Grant, Policy
    from agentctl.catalog.tools import CONTROL_PLANE_OWNED
    from agentctl.cli import tool_views

    tool_views.check_names(
        {
            "--claim": claim,
            "--group": group,
            "--tool": tool,
            "--deny-tool": deny_tool,
            "--deny-claim": deny_claim,
        }
    )
    grant = Grant(
        role=role,
        mode=mode,
        claims=frozenset(claim or ()),
        groups=tool_views.chosen_groups(group),
        tools=frozenset(tool or ()),
    )
    policy = Policy(
        denied_operations=frozenset(deny_tool or ()),
        denied_claims=frozenset(deny_claim or ()),
        allows_secret_values=allow_secret_values,
    )
    if name is None:
        decisions = expose(grant, policy).decisions
    else:
        if name not in CONTROL_PLANE_OWNED:
            tool_views.known_tool(name)
        decisions = (decide(name, grant, policy),)
    data = tool_views.exposure_data(grant, decisions)
    console.result("ToolExposure", data, lambda: _explained(decisions))
    return 0


def _listed(tools: list[Descriptor]) -> str:
    from agentctl.cli.paint import table

    rows = [
        (one.operation_id, one.group or "–", one.side_effect_class, _claims(one)) for one in tools
    ]
    return table(("tool", "group", "effect", "claims"), rows)


def _shown(tool: Descriptor) -> str:
    import json

    from agentctl.cli.paint import facts

    pairs = (
        ("tool", f"{tool.operation_id}, version {tool.version}"),
        ("title", tool.title),
        ("group", tool.group or "none: every agent has it"),
        ("claims", _claims(tool)),
        ("roles", ", ".join(tool.allowed_roles) if tool.allowed_roles else "all"),
        ("modes", ", ".join(tool.task_modes)),
        ("effect", tool.side_effect_class),
        ("key", tool.idempotency),
        *(
            ("redacts", f"{one.path} as {one.replacement} in {', '.join(one.applies_to)}")
            for one in tool.redaction
        ),
    )
    schema = json.dumps(tool.input_schema, ensure_ascii=False, indent=2)
    return f"{facts(pairs)}\n\n{tool.description}\n\ninput {schema}"


def _claims(tool: Descriptor) -> str:
    return ", ".join(tool.required_claims) or "–"


def _explained(decisions: tuple[Decision, ...]) -> str:
    from agentctl.cli.paint import table
    from agentctl.cli.tool_views import needs

    rows = [(one.operation_id, one.outcome, one.reason, needs(one)) for one in decisions]
    told = table(("tool", "outcome", "reason", "needs"), rows)
    if len(decisions) == 1:
        return told
    seen = sum(one.is_allowed for one in decisions)
    return f"{told}\n\n{seen} of {len(decisions)} visible"
