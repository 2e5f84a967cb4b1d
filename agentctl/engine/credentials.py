"""Every secret that a plan refers to: who uses it, for what, and where its value is found.

Above: the dispatcher, which knows what to keep out of the records again after a resume, and
`auth check` and `doctor`. Below: the plan's definitions. Pure; no value is ever seen here.
Source: specification, sections 1.1 (secret) and 15 (default credentials).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from attr import frozen

from agentctl.providers import PROVIDERS
from agentctl.value import Value

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentctl.engine.plan import Plan
    from agentctl.engine.state import RunState
    from agentctl.jsonvalue import JsonObject


@frozen(kw_only=True, eq=False, repr=False)
class Credential(Value):
    """One reference to a secret: `section` and `owner` have it, `purpose` says what for."""

    section: str
    owner: str
    purpose: str
    reference: JsonObject

    @property
    def name(self) -> str:
        """A name that is unique in its plan."""
        return ":".join(part for part in (self.section, self.owner, self.purpose) if part)

    @property
    def words(self) -> str:
        """What it is, for people: `variable TOKEN of action deploy`."""
        what, _, name = self.purpose.partition(":")
        said = {"env": "variable", "customCa": "certificate"}.get(what, what)
        owner = {"process": f"action {self.owner}"}.get(self.section, self.owner)
        return f"{said} {name} of {owner}" if name else f"{said} of {owner}"

    @property
    def source(self) -> str:
        """Where the value is found, in words; arguments of a program are left out."""
        kind, where = place_of(self.reference)
        return f"{_WORDS[kind]} {where}"


_WORDS: Final = {"env": "environment variable", "file": "file", "process": "program"}


def place_of(reference: JsonObject) -> tuple[str, str]:
    """Return where a reference looks: `env`, `file` or `process`, and the name there."""
    for kind in ("env", "file"):
        if isinstance(reference.get(kind), str):
            return kind, cast("str", reference[kind])
    process = cast("JsonObject", reference.get("process") or {})
    return "process", str(process.get("command", ""))


def credentials_of(plan: Plan) -> list[Credential]:
    """Return every reference of a plan, in the order of its sections and names."""
    definitions = plan.definitions
    return [
        *_of_providers(definitions),
        *_of_servers(definitions, "mcpServers"),
        *_of_servers(definitions, "a2aPeers"),
        *_of_actions(definitions),
        *_of_network(definitions),
        *_of_catalog(definitions),
    ]


def providers_in_use(plan: Plan) -> frozenset[str]:
    """Return the providers that a task's agent asks."""
    agents = _named(plan.definitions, "agents")
    names = {
        task.uses_name
        for task in plan.tasks.values()
        if task.uses_kind == "agent" and isinstance(task.uses_name, str)
    }
    return frozenset(str(agents[name].get("provider")) for name in names if name in agents)


def dispatched_credentials(state: RunState) -> list[Credential]:
    """Return the references that effects of this run may have resolved before now."""
    found = credentials_of(state.plan)
    if not found:
        return found
    agents = _named(state.plan.definitions, "agents")
    owners = set()
    for effect in state.effects_by_name.values():
        task = state.plan.tasks[effect.task_id]
        if effect.dispatch and isinstance(task.uses_name, str):
            owners.add(task.uses_name)
            owners.add(str(agents.get(task.uses_name, {}).get("provider")))
    everywhere = ("mcpServers", "a2aPeers", "policy")
    return [one for one in found if one.owner in owners or one.section in everywhere]


def _of_providers(definitions: JsonObject) -> Iterator[Credential]:
    for name, provider in _named(definitions, "providers").items():
        default = PROVIDERS[str(provider["kind"])].credential
        given = cast("JsonObject | None", provider.get("credential"))
        reference: JsonObject | None = given or ({"env": default} if default else None)
        if reference is not None:
            yield Credential(
                section="provider", owner=name, purpose="credential", reference=reference
            )
        yield from _headers("provider", name, provider)


def _of_servers(definitions: JsonObject, section: str) -> Iterator[Credential]:
    for name, server in _named(definitions, section).items():
        yield from _headers(section, name, server)


def _of_actions(definitions: JsonObject) -> Iterator[Credential]:
    for name, action in _named(definitions, "actions").items():
        for variable, reference in _references(action, "env").items():
            yield Credential(
                section="process", owner=name, purpose=f"env:{variable}", reference=reference
            )


def _of_network(definitions: JsonObject) -> Iterator[Credential]:
    policy = cast("JsonObject", definitions.get("policy") or {})
    network = cast("JsonObject", policy.get("network") or {})
    reference = network.get("customCa")
    if isinstance(reference, dict):
        yield Credential(
            section="policy", owner="network", purpose="customCa", reference=reference
        )


def _of_catalog(definitions: JsonObject) -> Iterator[Credential]:
    policy = cast("JsonObject", definitions.get("policy") or {})
    catalog = cast("JsonObject", policy.get("catalog") or {})
    for name, reference in _references(catalog, "secrets").items():
        yield Credential(
            section="policy", owner="catalog", purpose=f"secret:{name}", reference=reference
        )


def _headers(section: str, owner: str, definition: JsonObject) -> Iterator[Credential]:
    for header, reference in _references(definition, "headers").items():
        yield Credential(
            section=section, owner=owner, purpose=f"header:{header}", reference=reference
        )


def _references(definition: JsonObject, key: str) -> dict[str, JsonObject]:
    return cast("dict[str, JsonObject]", definition.get(key) or {})


def _named(definitions: JsonObject, section: str) -> dict[str, JsonObject]:
    return cast("dict[str, JsonObject]", definitions.get(section) or {})
