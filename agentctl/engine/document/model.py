"""The workflow document: every field of every kind.

Above: the reader, the compiler and the JSON Schema. Below: nothing. Data only; defaults and
bounds are the contract of the specification, section 1.
"""

from __future__ import annotations

from typing import Any, Literal

from attr import frozen

from agentctl.engine.document.fields import item
from agentctl.engine.document.policy_model import (
    Memory,
    Output,
    PackReference,
    PackTrust,
    Policy,
    Runtime,
)
from agentctl.engine.document.secret_model import Secret
from agentctl.value import Value

Json = Any
"""Any JSON value; the reader keeps its own kind of node out of it."""

ProviderKind = Literal[
    "fake", "openai", "anthropic", "google", "azure_openai", "openai_compatible"
]
ActionKind = Literal[
    "builtin.assign",
    "builtin.assert",
    "builtin.read",
    "builtin.write",
    "builtin.shell.exec",
    "builtin.memory.read",
    "builtin.memory.write",
    "builtin.long_term_memory.read",
    "builtin.long_term_memory.write",
    "builtin.long_term_memory.search",
    "builtin.long_term_memory.promote",
    "mcp.call",
    "a2a.delegate",
    "extension.process",
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
IdempotencyName = Literal["pure", "idempotent", "keyed", "at_most_once", "unknown"]
RiskName = Literal["low", "medium", "high", "critical"]
ApprovalName = Literal["policy", "never", "always"]

JSON_SCHEMA = ["object", "boolean"]
MIB = 1 << 20
DAY_SECONDS = 86_400


@frozen(kw_only=True, eq=False, repr=False)
class Metadata(Value):
    """What a workflow is called."""

    name: str = item("Name of the workflow.", minLength=1)
    description: str | None = item("What it is for.", None)
    labels: dict[str, str] = item("Free labels.", factory=dict)


@frozen(kw_only=True, eq=False, repr=False)
class Retry(Value):
    """How often an attempt is repeated after a definite failure that may pass."""

    max_attempts: int = item("Attempts in all.", 1, minimum=1, maximum=20)
    backoff_ms: int = item("Base of the exponential back-off.", 0, minimum=0, maximum=60_000)


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
    model: str = item("Name of the model.")
    description: str | None = item("What it is for.", None)
    instructions: str | None = item("What the agent is told.", None)
    instructions_file: str | None = item("A file with what the agent is told.", None)
    vars_files: list[str] = item("Variable files.", factory=list)
    vars: dict[str, Json] = item("Variables.", factory=dict)
    tools: list[str] = item("Names of the tools it may call.", factory=list)
    max_turns: int = item("Model calls.", 8, minimum=1, maximum=64)
    max_tool_calls: int = item("Tool calls.", 16, minimum=0, maximum=256)
    max_output_tokens: int = item("Output tokens of each call.", 2048, minimum=1)
    timeout_seconds: int = item("Time for one attempt.", 120, minimum=1)
    retry: Retry | None = item("Retries, where the task declares none.", None)
    reasoning: Reasoning | None = item("How much to think.", None)
    structured_output: Json = item("JSON Schema of the answer.", None, type=JSON_SCHEMA)
    usage_limit: UsageLimit | None = item("Bounds of usage.", None)
    stream: bool = item("Whether progress is streamed.", default=False)
    provider_options: dict[str, Json] = item("Options of the provider.", factory=dict)


@frozen(kw_only=True, eq=False, repr=False)
class Container(Value):
    """A container for one process."""

    image: str = item("NAME@sha256:… or sha256:…, local only.")
    runtime: Literal["auto", "docker", "podman"] = item("Engine.", "auto")
    memory_limit_bytes: int = item("Memory.", 256 * MIB, minimum=16 * MIB, maximum=16384 * MIB)
    cpu_limit_millis: int = item("Thousandths of a CPU.", 1000, minimum=1, maximum=64_000)
    pids_limit: int = item("Processes.", 64, minimum=1, maximum=4096)


@frozen(kw_only=True, eq=False, repr=False)
class Probe(Value):
    """How to ask the outside world whether an effect happened."""

    uses: str = item("action:NAME, of a harmless action.")
    with_: dict[str, Json] = item("Its input; it may name the effect.", factory=dict)
    mode: Literal["manual", "automatic"] = item("Whether a resume asks by itself.", "manual")


@frozen(kw_only=True, eq=False, repr=False)
class Action(Value):
    """A deterministic step under a name."""

    kind: ActionKind = item("What it does.")
    description: str | None = item("What it is for.", None)
    with_: dict[str, Json] = item("Default input.", factory=dict)
    command: str | None = item("Program.", None)
    args: list[str] = item("Its arguments.", factory=list)
    cwd: str | None = item("Its working directory, inside the workspace.", None)
    env: dict[str, Secret] = item("Its environment.", factory=dict)
    timeout_seconds: int | None = item("Time.", None, minimum=1, maximum=DAY_SECONDS)
    stdout_limit_bytes: int | None = item("Output.", None, minimum=1, maximum=16 * MIB)
    stderr_limit_bytes: int | None = item("Error output.", None, minimum=1, maximum=16 * MIB)
    combined_output_limit_bytes: int | None = item("Both.", None, minimum=1, maximum=16 * MIB)
    isolation: Literal["process", "container"] = item("Isolation.", "process")
    container: Container | None = item("The container.", None)
    idempotency: IdempotencyName | None = item("What a repetition would do.", None)
    protocol_version: str | None = item("Protocol of the extension.", None)
    input_schema: Json = item("JSON Schema of the input.", None, type=JSON_SCHEMA)
    output_schema: Json = item("JSON Schema of the output.", None, type=JSON_SCHEMA)
    capabilities: list[str] = item("What the extension can do.", factory=list)
    probe: Probe | None = item("How to ask whether its effect happened.", None)


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


@frozen(kw_only=True, eq=False, repr=False)
class Foreach(Value):
    """One child per item."""

    items: list[Json] = item("The items.")
    as_: str = item("Name of the variable that holds the item.", "item")
    max_items: int = item("Bound.", 32, minimum=1, maximum=256)


@frozen(kw_only=True, eq=False, repr=False)
class Matrix(Value):
    """One child per combination."""

    axes: dict[str, list[Json]] = item("Values by axis.")
    max_items: int = item("Bound.", 32, minimum=1, maximum=256)


@frozen(kw_only=True, eq=False, repr=False)
class Loop(Value):
    """Iterations while a condition holds."""

    max_iterations: int = item("Bound.", minimum=1, maximum=64)
    while_: str = item("Exact condition.")
    initial: Json = item("The previous output of the first iteration.", None)


@frozen(kw_only=True, eq=False, repr=False)
class RouteCase(Value):
    """One typed case."""

    equals: Json = item("The value.")
    tasks: list[str] = item("Its destinations.")


@frozen(kw_only=True, eq=False, repr=False)
class Route(Value):
    """Where to go on."""

    select: str = item("Exact template of the value.")
    cases: list[RouteCase] = item("The cases.")
    default: list[str] = item("Destinations when no case fits.", factory=list)


@frozen(kw_only=True, eq=False, repr=False)
class Compensate(Value):
    """How a task is undone."""

    uses: str = item("action:NAME of the inverse.")
    with_: dict[str, Json] = item("Its input.", factory=dict)
    retry: Retry = item("Its retries.", factory=Retry)
    timeout_seconds: int | None = item("Time.", None, minimum=1, maximum=DAY_SECONDS)


@frozen(kw_only=True, eq=False, repr=False)
class Task(Value):
    """One node of the workflow."""

    id: str = item("Unique name.", pattern="^[A-Za-z0-9_][A-Za-z0-9_-]*$")
    uses: str = item("action:NAME, agent:NAME, workflow:NAME or router.")
    needs: list[str] = item("Tasks that must be over.", factory=list)
    foreach: Foreach | None = item("One child per item.", None)
    matrix: Matrix | None = item("One child per combination.", None)
    loop: Loop | None = item("Bounded iterations.", None)
    route: Route | None = item("Where a router leads.", None)
    memory_writes: list[str] = item("Working-memory keys it may write.", factory=list)
    when: str | None = item("Exact condition; false skips the task.", None)
    vars_files: list[str] = item("Variable files.", factory=list)
    vars: dict[str, Json] = item("Variables.", factory=dict)
    with_: dict[str, Json] = item("Input.", factory=dict)
    retry: Retry | None = item("Retries.", None)
    timeout_seconds: int | None = item("Time.", None, minimum=1, maximum=DAY_SECONDS)
    failure: Literal["stop", "continue"] = item("What a failure does to the run.", "stop")
    compensate: Compensate | None = item("How it is undone.", None)
    output_schema: Json = item("JSON Schema of the output.", None, type=JSON_SCHEMA)


@frozen(kw_only=True, eq=False, repr=False)
class Subworkflow(Value):
    """A reusable part with typed boundaries."""

    version: str = item("Semantic version.")
    inputs: dict[str, Json] = item("Default inputs.", factory=dict)
    input_schema: Json = item("JSON Schema of the inputs.", None, type=JSON_SCHEMA)
    outputs: dict[str, Json] = item("Templates of the outputs.", factory=dict)
    output_schema: Json = item("JSON Schema of the outputs.", None, type=JSON_SCHEMA)
    tasks: list[Task] = item("Its tasks.", minItems=1)


@frozen(kw_only=True, eq=False, repr=False)
class CompensationPolicy(Value):
    """When and how inverses run."""

    on_failure: Literal["manual", "automatic"] = item("When.", "manual")
    approval: ApprovalName = item("Whether a person is asked.", "policy")


@frozen(kw_only=True, eq=False, repr=False)
class McpServer(Value):
    """A server of the Model Context Protocol."""

    url: str = item("Address.")
    headers: dict[str, Secret] = item("Request headers.", factory=dict)
    timeout_seconds: int = item("Time.", 120, minimum=1, maximum=DAY_SECONDS)
    protocol_version: str = item("Version.", "2025-11-25")


@frozen(kw_only=True, eq=False, repr=False)
class A2aPeer(Value):
    """A remote agent."""

    card_url: str = item("Address of its card.")
    headers: dict[str, Secret] = item("Request headers.", factory=dict)
    timeout_seconds: int = item("Time.", 120, minimum=1, maximum=DAY_SECONDS)
    protocol_version: str = item("Version.", "1.0")
    max_polls: int = item("Observations.", 100, minimum=1)
    poll_interval_ms: int = item("Time between them.", 1000, minimum=1)


@frozen(kw_only=True, eq=False, repr=False)
class Spec(Value):
    """Everything a workflow declares."""

    inputs: dict[str, Json] = item("Typed default inputs.", factory=dict)
    input_schema: Json = item("JSON Schema of the inputs.", None, type=JSON_SCHEMA)
    outputs: dict[str, Json] = item("Templates rendered at the end.", factory=dict)
    vars_files: list[str] = item("Variable files.", factory=list)
    vars: dict[str, Json] = item("Variables.", factory=dict)
    providers: dict[str, Provider] = item("Providers by name.", factory=dict)
    agents: dict[str, Agent] = item("Agents by name.", factory=dict)
    actions: dict[str, Action] = item("Actions by name.", factory=dict)
    tools: dict[str, Tool] = item("Tools by name.", factory=dict)
    subworkflows: dict[str, Subworkflow] = item("Reusable parts by name.", factory=dict)
    compensation: CompensationPolicy = item("Inverses.", factory=CompensationPolicy)
    tasks: list[Task] = item("The tasks, in order.", minItems=1)
    policy: Policy = item("What is allowed.", factory=Policy)
    memory: Memory = item("Working and long-term memory.", factory=Memory)
    mcp_servers: dict[str, McpServer] = item("MCP servers by name.", factory=dict)
    a2a_peers: dict[str, A2aPeer] = item("Remote agents by name.", factory=dict, name="a2aPeers")
    packs: list[PackReference] = item("Packs.", factory=list)
    pack_trust: PackTrust = item("Which packs are trusted.", factory=PackTrust)
    runtime: Runtime = item("Bounds of the run.", factory=Runtime)
    output: Output = item("What the CLI shows.", factory=Output)


@frozen(kw_only=True, eq=False, repr=False)
class Workflow(Value):
    """A whole document."""

    api_version: Literal["agentctl.dev/v1", "agentctl.dev/v1alpha1"] = item("Version.")
    kind: Literal["Workflow"] = item("Kind.")
    metadata: Metadata = item("What it is called.")
    spec: Spec = item("What it does.")


@frozen(kw_only=True, eq=False, repr=False)
class PackDependency(Value):
    """A pack that another needs."""

    version: str = item("Version range.")
    source: Json = item("Where it comes from.")


@frozen(kw_only=True, eq=False, repr=False)
class PackManifest(Value):
    """A pack: actions, agents and workflows under one name and version."""

    api_version: Literal["agentctl.dev/pack/v1", "agentctl.dev/pack/v1alpha1"] = item("Version.")
    name: str = item("Dotted name.", minLength=1)
    version: str = item("Semantic version.")
    description: str | None = item("What it is for.", None)
    agentctl: str | None = item("Compatible versions of agentctl.", None)
    dependencies: dict[str, PackDependency] = item("Packs it needs.", factory=dict)
    capabilities: list[str] = item("What it needs.", factory=list)
    providers: list[str] = item("Provider kinds it needs.", factory=list)
    actions: dict[str, Action] = item("Actions by name.", factory=dict)
    agents: dict[str, Agent] = item("Agents by name.", factory=dict)
    tools: dict[str, Tool] = item("Tools by name.", factory=dict)
    workflows: dict[str, Subworkflow] = item("Workflows by name.", factory=dict)
    files: dict[str, str] = item("Digests of its files.", factory=dict)
