"""`agentctl providers`."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from agentctl.cli import options
from agentctl.cli.command import command, make
from agentctl.cli.console import Console

if TYPE_CHECKING:
    from pathlib import Path

    from agentctl.effects.secrets import Secrets
    from agentctl.engine.plan import Plan
    from agentctl.jsonvalue import JsonObject, JsonValue

app = make("providers", "Look at the providers of a workflow.")


@command(app, "inspect")
def inspect(console: Console, file: options.File, workspace: options.Workspace = None) -> int:
    """Show each provider, who asks it, what it takes, and whether its secrets are in place."""
    from agentctl.cli import loading

    loaded = loading.load(loading.open_engine(console), file, workspace)
    loading.show_warnings(console, loaded)
    plan = loaded.plan
    folder = loading.workspace_of(plan, loading.base_folder(file, workspace))
    shown = _providers(plan, folder)
    listed: list[JsonValue] = [*shown]
    data: JsonObject = {"workflow": plan.workflow_name, "providers": listed}
    console.result("Providers", data, lambda: _human(shown))
    return 0


def _providers(plan: Plan, folder: Path) -> list[JsonObject]:
    from agentctl.cli.readiness import secrets_of
    from agentctl.engine.credentials import providers_in_use

    secrets, used = secrets_of(plan, folder), providers_in_use(plan)
    defined = cast("dict[str, JsonObject]", plan.definitions["providers"])
    return [
        _provider(name, one, plan, secrets, used=name in used) for name, one in defined.items()
    ]


def _provider(
    name: str, definition: JsonObject, plan: Plan, secrets: Secrets, *, used: bool
) -> JsonObject:
    from agentctl.providers import PROVIDERS

    facts = PROVIDERS[cast("str", definition["kind"])]
    return {
        "name": name,
        "kind": facts.kind,
        "endpoint": definition.get("endpoint") or facts.endpoint or None,
        "used": used,
        "agents": _agents(name, plan),
        "reasoning": bool(facts.reasoning),
        "providerOptions": [*sorted(facts.options)],
        "supports": facts.features(),
        "secrets": _secrets(name, plan, secrets),
    }


def _agents(name: str, plan: Plan) -> list[JsonValue]:
    agents = cast("dict[str, JsonObject]", plan.definitions["agents"])
    return [
        {"name": agent, "model": one["model"], "requests": _requests(one)}
        for agent, one in agents.items()
        if one["provider"] == name
    ]


def _requests(agent: JsonObject) -> list[JsonValue]:
    """Return what an agent asks of its provider, in the words of `supports`."""
    wanted = {
        "tools": agent.get("tools"),
        "structuredOutput": agent.get("structuredOutput"),
        "reasoning": agent.get("reasoning"),
        "streaming": agent.get("stream"),
    }
    return [name for name, value in wanted.items() if value]


def _secrets(name: str, plan: Plan, secrets: Secrets) -> list[JsonValue]:
    from agentctl.engine.credentials import credentials_of, place_of

    found: list[JsonValue] = []
    for one in credentials_of(plan):
        if (one.section, one.owner) == ("provider", name):
            kind, place = place_of(one.reference)
            problem = secrets.lacks(one.reference)
            found.append(
                {
                    "purpose": one.purpose,
                    "source": {"kind": kind, "name": place},
                    "present": problem is None,
                    "reason": problem,
                }
            )
    return found


def _human(shown: list[JsonObject]) -> str:
    from agentctl.cli.paint import table

    rows = []
    for one in shown:
        agents = [str(agent["name"]) for agent in cast("list[JsonObject]", one["agents"])]
        missing = [
            str(secret["reason"])
            for secret in cast("list[JsonObject]", one["secrets"])
            if not secret["present"]
        ]
        rows.append(
            (
                str(one["name"]),
                str(one["kind"]),
                ", ".join(agents) or "-",
                "; ".join(missing) or "in place",
            )
        )
    return table(("provider", "kind", "agents", "secrets"), rows) if rows else "no providers"
