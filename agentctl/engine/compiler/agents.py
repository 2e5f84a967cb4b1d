"""Stage: agents, their providers and their tools agree with what there is.

Above: the pipeline. Below: the table of kinds.
Source: specification, sections 1.1 (agent, tool), 3, 14 and 15 (capabilities, options).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from attr import frozen

from agentctl.engine.kinds import PROVIDERS, TOOLS
from agentctl.suggest import did_you_mean
from agentctl.value import Value

if TYPE_CHECKING:
    from agentctl.diagnostics import DiagnosticCode
    from agentctl.engine.compiler.report import Report
    from agentctl.engine.document.agent_model import Agent, Provider, Tool
    from agentctl.engine.document.model import Spec
    from agentctl.jsonvalue import JsonValue

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
        if agent.reasoning is not None and not facts.reasoning:
            self._problem(
                "unsupported_capability",
                f"the provider kind {provider.kind!r} does not support reasoning",
                f"{place}.reasoning",
                "remove `reasoning`, or use another provider",
            )
        for option, value in agent.provider_options.items():
            path = f"{place}.providerOptions.{option}"
            if option not in facts.options:
                help = did_you_mean(option, facts.options) or f"{provider.kind} takes no options"
                message = f"the provider kind {provider.kind!r} has no option {option!r}"
                self._problem("unsupported_capability", message, path, help)
            else:
                wanted = _wrong_type(option, value)
                if wanted is not None:
                    message = f"{option} must be {wanted}"
                    self._problem("schema_violation", message, path, None)

    def _problem(self, code: DiagnosticCode, message: str, path: str, help: str | None) -> None:
        self.report.add(code, message, file=self.file, path=path, help=help)


def _wrong_type(option: str, value: JsonValue) -> str | None:
    """Return what a known option must be when it is something else."""
    if option in ("finalText", "toolName"):
        return None if isinstance(value, str) else "text"
    if option in ("delayMs", "failFirst"):
        is_count = isinstance(value, int) and not isinstance(value, bool) and value >= 0
        return None if is_count else "a whole number of at least 0"
    if option in ("store", "parallelToolCalls"):
        return None if isinstance(value, bool) else "true or false"
    return None
