"""Stage: agents, their providers and their tools agree with what there is.

Above: the pipeline. Below: the table of kinds.
Source: specification, sections 1.1 (agent, tool), 3, 14 and 15 (capabilities, options).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from attr import frozen

from agentctl.engine.compiler.definitions import normal_object
from agentctl.engine.kinds import TOOLS
from agentctl.providers import OPTION_TYPES, PROVIDERS
from agentctl.suggest import did_you_mean
from agentctl.value import Value

if TYPE_CHECKING:
    from agentctl.diagnostics import DiagnosticCode
    from agentctl.engine.compiler.report import Report
    from agentctl.engine.document.agent_model import Agent, Provider, Tool
    from agentctl.engine.document.catalog_model import CatalogGrant
    from agentctl.engine.document.model import Spec
    from agentctl.jsonvalue import JsonValue
    from agentctl.providers import ProviderFacts

_ENDPOINT_REQUIRED = frozenset({"azure_openai", "openai_compatible"})


@frozen(eq=False, repr=False)
class AgentStage(Value):
    """Checks providers, agents and tools of one document."""

    spec: Spec
    file: str
    report: Report

    def run(self) -> None:
        """Check every declaration, used or not."""
        for name, provider in self.spec.providers.items():
            self._provider(name, provider)
        for name, tool in self.spec.tools.items():
            self._tool(name, tool)
        for name, agent in self.spec.agents.items():
            self._agent(name, agent)
            if agent.catalog is not None:
                self._catalog(agent.catalog, agent, f"spec.agents.{name}")
            if agent.max_repair_turns and agent.structured_output is None:
                message = "`maxRepairTurns` mends answers against `structuredOutput` alone"
                place = f"spec.agents.{name}.maxRepairTurns"
                self._problem("schema_violation", message, place, "add a structuredOutput")
        if self.spec.policy.catalog is not None:
            from agentctl.engine.compiler.catalog import problems_of_policy

            declared = normal_object(self.spec.policy.catalog)
            for code, message, inside, help in problems_of_policy(declared):
                self._problem(code, message, f"spec.policy.catalog.{inside}", help)

    def _catalog(self, grant: CatalogGrant, agent: Agent, place: str) -> None:
        from agentctl.engine.compiler.catalog import problems_of_answer, problems_of_grant

        policy = normal_object(self.spec.policy)
        found = [
            *problems_of_grant(normal_object(grant), policy, agent.tools),
            *problems_of_answer(normal_object(agent), policy),
        ]
        for code, message, inside, help in found:
            self._problem(code, message, f"{place}.{inside}", help)

    def _provider(self, name: str, provider: Provider) -> None:
        place = f"spec.providers.{name}"
        if provider.kind in _ENDPOINT_REQUIRED and not provider.endpoint:
            message = f"a provider of kind {provider.kind} needs an `endpoint`"
            self._problem("schema_violation", message, place, "add endpoint: https://…")

    def _tool(self, name: str, tool: Tool) -> None:
        """Compare a declaration with what the executor really does."""
        facts = TOOLS[tool.kind]
        if facts is None:
            return
        place = f"spec.tools.{name}"
        if tool.capability != facts.capability:
            self._mismatch(tool.kind, "capability", tool.capability, facts.capability, place)
        if tool.effect_class != facts.effect_class:
            self._mismatch(tool.kind, "effectClass", tool.effect_class, facts.effect_class, place)

    def _mismatch(self, kind: str, field: str, declared: str, real: str, place: str) -> None:
        message = f"the {field} of {kind} is {real}, not {declared}"
        help = f"write {field}: {real}"
        self._problem("unsupported_capability", message, f"{place}.{field}", help)

    def _agent(self, name: str, agent: Agent) -> None:
        place = f"spec.agents.{name}"
        for index, tool in enumerate(agent.tools):
            if tool not in self.spec.tools:
                self._problem(
                    "missing_reference",
                    f"no tool is named {tool!r}",
                    f"{place}.tools[{index}]",
                    did_you_mean(tool, self.spec.tools) or "declare it in spec.tools",
                )
        provider = self.spec.providers.get(agent.provider)
        if provider is None:
            self._problem(
                "missing_reference",
                f"no provider is named {agent.provider!r}",
                f"{place}.provider",
                did_you_mean(agent.provider, self.spec.providers)
                or "declare it in spec.providers",
            )
            return
        self._permitted(agent, provider, place)
        self._capabilities(agent, provider, place)

    def _permitted(self, agent: Agent, provider: Provider, place: str) -> None:
        allowed = self.spec.policy.providers
        if allowed and agent.provider not in allowed and provider.kind not in allowed:
            self._problem(
                "policy_denied",
                f"policy.providers does not list {agent.provider!r}",
                f"{place}.provider",
                "add it to policy.providers, or use one of: " + ", ".join(allowed),
            )

    def _capabilities(self, agent: Agent, provider: Provider, place: str) -> None:
        facts = PROVIDERS[provider.kind]
        self._reasoning(agent, facts, f"{place}.reasoning")
        for option, value in agent.provider_options.items():
            path = f"{place}.providerOptions.{option}"
            if option not in facts.options:
                help = did_you_mean(option, facts.options) or f"{provider.kind} takes no options"
                message = f"the provider kind {provider.kind!r} has no option {option!r}"
                self._problem("unsupported_capability", message, path, help)
            else:
                wanted = _wrong_value(option, value, facts)
                if wanted is not None:
                    message = f"{option} must be {wanted}"
                    self._problem("schema_violation", message, path, None)

    def _reasoning(self, agent: Agent, facts: ProviderFacts, place: str) -> None:
        """Refuse what the protocol cannot say, rather than leave it out."""
        wanted = agent.reasoning
        if wanted is None:
            return
        if not facts.reasoning:
            message = f"the provider kind {facts.kind!r} does not support reasoning"
            help = "remove `reasoning`, or use another provider"
            self._problem("unsupported_capability", message, place, help)
            return
        for name, value, known in (
            ("effort", wanted.effort, facts.efforts),
            ("mode", wanted.mode, facts.modes),
        ):
            if value is not None and value not in known:
                message = f"the provider kind {facts.kind!r} has no reasoning {name} {value!r}"
                help = did_you_mean(value, known) or f"known: {', '.join(known) or 'none'}"
                self._problem("unsupported_capability", message, f"{place}.{name}", help)
        least = facts.thinking_tokens_min.get(wanted.mode or "", -1)
        if agent.max_output_tokens <= least:
            message = f"thinking takes {least:,} tokens or more of maxOutputTokens"
            help = f"write maxOutputTokens above {least:,}"
            self._problem("schema_violation", message, f"{place}.mode", help)

    def _problem(self, code: DiagnosticCode, message: str, path: str, help: str | None) -> None:
        self.report.add(code, message, file=self.file, path=path, help=help)


def _wrong_value(option: str, value: JsonValue, facts: ProviderFacts) -> str | None:
    """Return what a known option must be when it is something else."""
    choices = facts.choices.get(option)
    if choices is not None:
        return None if value in choices else f"one of {', '.join(choices)}"
    wanted = OPTION_TYPES.get(option)
    if wanted == "text":
        return None if isinstance(value, str) else "text"
    if wanted == "boolean":
        return None if isinstance(value, bool) else "true or false"
    if wanted == "calls":
        return None if _are_calls(value) else "a list of {name, arguments}"
    if wanted == "count":
        is_count = isinstance(value, int) and not isinstance(value, bool) and value >= 0
        return None if is_count else "a whole number of at least 0"
    return None


def _are_calls(value: JsonValue) -> bool:
    return isinstance(value, list) and all(
        isinstance(one, dict)
        and set(one) == {"name", "arguments"}
        and isinstance(one["name"], str)
        and isinstance(one["arguments"], dict)
        for one in value
    )
