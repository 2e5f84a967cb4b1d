"""The parts of a document that bound a run: policy, memory, trust in packs, runtime, output.

Above: the model. Source: specification, sections 1.1 and 1.2.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from attr import frozen

from agentctl.engine.document.fields import item
from agentctl.engine.document.words import JSON_SCHEMA, Json
from agentctl.limits import APPROVAL_EXPIRES_SECONDS_MAX
from agentctl.value import Value

if TYPE_CHECKING:
    from agentctl.engine.document.catalog_model import CatalogPolicy
    from agentctl.engine.document.secret_model import Secret


@frozen(kw_only=True, eq=False, repr=False)
class NetworkPolicy(Value):
    """Which connections may be made."""

    allowed_schemes: list[str] = item("Schemes.", factory=list)
    allowed_ports: list[int] = item("Ports.", factory=list)
    connect_timeout_seconds: int | None = item("Time to connect.", None, minimum=1)
    max_response_bytes: int | None = item("Size of an answer.", None, minimum=1)
    allow_private: bool = item("Whether private addresses are allowed.", default=False)
    allow_proxy: bool = item("Whether a proxy is used.", default=False)
    custom_ca: Secret | None = item("Certificates of a private authority.", None)


@frozen(kw_only=True, eq=False, repr=False)
class Policy(Value):
    """What the workflow may do."""

    workspace_root: str = item("Folder of the workflow's files.", ".")
    writable_roots: list[str] = item("Folders that may be written.", factory=list)
    environment_allowlist: list[str] = item("Variables that may be read.", factory=list)
    network_allowlist: list[str] = item("Hosts that may be reached.", factory=list)
    network: NetworkPolicy = item("Connections.", factory=NetworkPolicy)
    process_allowlist: list[str] = item("Programs that may be run.", factory=list)
    secret_file_roots: list[str] = item("Folders of secret files.", factory=list)
    secret_process_allowlist: list[str] = item("Programs that print secrets.", factory=list)
    providers: list[str] = item("Providers that may be used.", factory=list)
    tools_allow: list[str] = item("Tools and capabilities that may be used.", factory=list)
    tools_deny: list[str] = item("Tools and capabilities that may not.", factory=list)
    catalog: CatalogPolicy | None = item("What agents may not ask of the control plane.", None)
    approval: Literal["never", "mutations", "high_risk", "always"] = item(
        "When a person is asked.", "mutations"
    )
    non_interactive: Literal["pause", "deny_approval", "fail"] = item(
        "What happens without a terminal.", "pause"
    )
    approval_expires_seconds: int | None = item(
        "How long a question stays open; absent is until it is answered.",
        None,
        minimum=1,
        maximum=APPROVAL_EXPIRES_SECONDS_MAX,
    )


@frozen(kw_only=True, eq=False, repr=False)
class Embedding(Value):
    """How long-term memory is compared."""

    provider: str = item("Provider.", "local_hash")
    dimensions: int = item("Dimensions.", 64, minimum=1, maximum=4096)
    model: str | None = item("Model.", None)


@frozen(kw_only=True, eq=False, repr=False)
class LongTermMemory(Value):
    """Memory that outlives a run."""

    provider: Literal["sqlite"] = item("Where it is kept.", "sqlite")
    namespace: str = item("Its namespace.", "default")
    retention_days: int | None = item("How long entries are kept.", None, minimum=1)
    embedding: Embedding | None = item("How entries are compared.", None)


@frozen(kw_only=True, eq=False, repr=False)
class MemoryMigration(Value):
    """How a repair brings the working memory of a run of an earlier version into this one's form."""

    rename: dict[str, str] = item("New names of keys, by the old ones.", factory=dict)
    drop: list[str] = item("Keys that are gone.", factory=list)
    set_: dict[str, Any] = item("Values that keys get.", factory=dict)
    schema: Json = item("JSON Schema that the memory must fit then.", None, type=JSON_SCHEMA)


@frozen(kw_only=True, eq=False, repr=False)
class Memory(Value):
    """Working memory of the run, and long-term memory."""

    working: dict[str, Any] = item("Initial values.", factory=dict)
    migrate: MemoryMigration | None = item("What a repair does to memory it takes over.", None)
    long_term: LongTermMemory | None = item("Long-term memory.", None)


@frozen(kw_only=True, eq=False, repr=False)
class PackTrust(Value):
    """Which packs are trusted."""

    unsigned: Literal["allow", "warn", "deny"] = item("What an unsigned pack may do.", "warn")
    allow_unsigned_process: bool = item(
        "Whether an unsigned pack may start programs.", default=False
    )
    keys: list[Any] = item("Keys of trusted publishers.", factory=list)


@frozen(kw_only=True, eq=False, repr=False)
class Budgets(Value):
    """Bounds of a whole run; absent is unlimited, and reaching one exactly is allowed."""

    max_provider_requests: int | None = item("Requests to providers.", None, minimum=1)
    max_turns: int | None = item("Turns of agents.", None, minimum=1)
    max_tool_calls: int | None = item("Tool calls.", None, minimum=1)
    max_input_tokens: int | None = item("Input tokens.", None, minimum=1)
    max_output_tokens: int | None = item("Output tokens.", None, minimum=1)
    max_total_tokens: int | None = item("Tokens in all.", None, minimum=1)
    max_wall_time_seconds: int | None = item("Time, pauses included.", None, minimum=1)
    max_process_output_bytes: int | None = item("Output of programs.", None, minimum=1)
    max_artifact_bytes: int | None = item("Size of artifacts.", None, minimum=1)
    max_tasks: int | None = item("Tasks of the plan.", None, minimum=1)
    max_expansion_items: int | None = item("Expanded children.", None, minimum=1)
    max_loop_iterations: int | None = item("Loop iterations.", None, minimum=1)
    max_cost_microusd: int | None = item("Cost in millionths of a dollar.", None, minimum=1)


@frozen(kw_only=True, eq=False, repr=False)
class ModelPrice(Value):
    """Prices of one model, in millionths of a dollar per million tokens."""

    input_microusd_per_million_tokens: int = item("Input.", minimum=0)
    output_microusd_per_million_tokens: int = item("Output.", minimum=0)
    reasoning_microusd_per_million_tokens: int | None = item("Reasoning.", None, minimum=0)
    cache_read_microusd_per_million_tokens: int | None = item("Cache reads.", None, minimum=0)
    cache_write_microusd_per_million_tokens: int | None = item("Cache writes.", None, minimum=0)


@frozen(kw_only=True, eq=False, repr=False)
class Pricing(Value):
    """A versioned price table."""

    version: str = item("Version of the table.")
    models: dict[str, ModelPrice] = item("Prices by provider/model.", factory=dict)


@frozen(kw_only=True, eq=False, repr=False)
class Runtime(Value):
    """Bounds of the run."""

    max_concurrency: int = item("Tasks at the same time.", 1, minimum=1, maximum=64)
    default_timeout_seconds: int = item("Time of a task.", 120, minimum=1, maximum=86_400)
    budgets: Budgets = item("Bounds of the whole run.", factory=Budgets)
    pricing: Pricing | None = item("Prices.", None)


@frozen(kw_only=True, eq=False, repr=False)
class Output(Value):
    """What the CLI shows."""

    verbose: bool = item("Whether it is verbose.", default=False)
    show_diff: bool = item("Whether diffs are shown.", default=True)
