"""Agents, the providers they ask and the tools they may call.

Above: the hints, when a document has one of them. Source: specification, section 1.1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from attr import frozen

from agentctl.agentfiles.model import Format
from agentctl.engine.document.fields import item
from agentctl.engine.document.words import (
    DAY_SECONDS,
    JSON_SCHEMA,
    ApprovalName,
    IdempotencyName,
    Json,
)
from agentctl.value import Value

if TYPE_CHECKING:
    from agentctl.engine.document.catalog_model import CatalogGrant
    from agentctl.engine.document.effect_model import Probe
    from agentctl.engine.document.flow_model import Retry
    from agentctl.engine.document.secret_model import Secret

ProviderKind = Literal[
    "fake", "openai", "anthropic", "google", "azure_openai", "openai_compatible"
]
ToolKind = Literal["builtin.workspace.read", "builtin.workspace.write", "builtin.echo"]
EffectClassName = Literal[
    "pure",
    "internal_state",
    "observe",
    "workspace_mutate",
    "external_mutate",
    "process_execution",
    "network",
    "model",
    "remote_agent",
]
RiskName = Literal["low", "medium", "high", "critical"]


@frozen(kw_only=True, eq=False, repr=False)
class Provider(Value):
    """Where models are asked."""

    kind: ProviderKind = item("Protocol of the provider.")
    endpoint: str | None = item("Base address; required by azure_openai.", None)
    credential: Secret | None = item("The key.", None)
    api_version: str | None = item("Version of the provider's interface.", None)
    headers: dict[str, Secret] = item("Further request headers.", factory=dict)


@frozen(kw_only=True, eq=False, repr=False)
class Reasoning(Value):
    """How much a model should think."""

    effort: Literal["none", "low", "medium", "high", "xhigh", "max"] | None = item("Effort.", None)
    mode: str | None = item("Mode of reasoning.", None)


@frozen(kw_only=True, eq=False, repr=False)
class UsageLimit(Value):
    """Bounds of one agent task's usage."""

    max_input_tokens: int | None = item("Input tokens.", None, minimum=1)
    max_output_tokens: int | None = item("Output tokens.", None, minimum=1)
    max_cost_usd: float | None = item("Cost in US dollars.", None, exclusiveMinimum=0)


@frozen(kw_only=True, eq=False, repr=False)
class Agent(Value):
    """A bounded model task: what it is told, what it may use, how long it may take."""

    provider: str = item("Name of the provider.")
    model: str | None = item("Name of the model; an agent file may name one.", None)
    description: str | None = item("What it is for.", None)
    instructions: str | None = item("What the agent is told.", None)
    instructions_file: str | None = item("A file with what the agent is told.", None)
    file: str | None = item("An agent file: instructions, model and the most it may use.", None)
    format: Format | None = item("Its format; else its path tells.", None)
    vars_files: list[str] = item("Variable files.", factory=list)
    vars: dict[str, Json] = item("Variables.", factory=dict)
    tools: list[str] = item("Names of the tools it may call.", factory=list)
    catalog: CatalogGrant | None = item("What it may ask of the control plane.", None)
    max_turns: int = item("Model calls.", 8, minimum=1, maximum=64)
    max_tool_calls: int = item("Tool calls.", 16, minimum=0, maximum=256)
    max_output_tokens: int = item("Output tokens of each call.", 2048, minimum=1)
    timeout_seconds: int = item("Time for one attempt.", 120, minimum=1)
    retry: Retry | None = item("Retries, where the task declares none.", None)
    reasoning: Reasoning | None = item("How much to think.", None)
    structured_output: Json = item("JSON Schema of the answer.", None, type=JSON_SCHEMA)
    max_repair_turns: int = item(
        "How often it is asked to mend an answer against `structuredOutput`.",
        0,
        minimum=0,
        maximum=8,
    )
    usage_limit: UsageLimit | None = item("Bounds of usage.", None)
    stream: bool = item("Whether progress is streamed.", default=False)
    provider_options: dict[str, Json] = item("Options of the provider.", factory=dict)


@frozen(kw_only=True, eq=False, repr=False)
class Tool(Value):
    """What a model may call."""

    kind: ToolKind = item("What it does.")
    description: str = item("What the model is told about it.")
    input_schema: Json = item("JSON Schema of the arguments.", type=JSON_SCHEMA)
    output_schema: Json = item("JSON Schema of the result.", type=JSON_SCHEMA)
    capability: str = item("What it needs.")
    risk: RiskName = item("Risk.")
    effect_class: EffectClassName = item("What it touches.")
    idempotency: IdempotencyName = item("What a repetition would do.")
    retry_safe: bool = item("Whether it may be tried again.", default=False)
    timeout_seconds: int | None = item("Time.", None, minimum=1, maximum=DAY_SECONDS)
    secrets: list[str] = item("Names of the secrets it uses.", factory=list)
    network: list[str] = item("Hosts it talks to.", factory=list)
    approval: ApprovalName = item("Whether a person is asked.", "policy")
    probe: Probe | None = item("How to ask whether its effect happened.", None)
