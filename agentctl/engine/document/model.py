"""The workflow document: its frame, and the sections that every workflow has.

Above: the reader, the compiler and the JSON Schema. Below: nothing; the other sections stand in
modules of their own, which a reader loads when it meets one (see `hints`). Data only; defaults
and bounds are the contract of the specification, section 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from attr import frozen

from agentctl.engine.document.fields import item
from agentctl.engine.document.policy_model import Memory, Output, PackTrust, Policy, Runtime
from agentctl.engine.document.words import (
    DAY_SECONDS,
    JSON_SCHEMA,
    MIB,
    ApprovalName,
    IdempotencyName,
    Json,
)
from agentctl.value import Value

if TYPE_CHECKING:
    from agentctl.engine.document.agent_model import Agent, Provider, Tool
    from agentctl.engine.document.effect_model import Container, Probe
    from agentctl.engine.document.flow_model import (
        Compensate,
        Foreach,
        Loop,
        Matrix,
        Retry,
        Route,
        Subworkflow,
    )
    from agentctl.engine.document.pack_model import PackReference
    from agentctl.engine.document.remote_model import A2aPeer, McpServer
    from agentctl.engine.document.secret_model import Secret

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


@frozen(kw_only=True, eq=False, repr=False)
class Metadata(Value):
    """What a workflow is called."""

    name: str = item("Name of the workflow.", minLength=1)
    description: str | None = item("What it is for.", None)
    labels: dict[str, str] = item("Free labels.", factory=dict)


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
class CompensationPolicy(Value):
    """When and how inverses run."""

    on_failure: Literal["manual", "automatic"] = item("When.", "manual")
    approval: ApprovalName = item("Whether a person is asked.", "policy")


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
