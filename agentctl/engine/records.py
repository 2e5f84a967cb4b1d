"""The durable records: everything that lives longer than one function call.

Each record is frozen, knows its machine, and carries a version that counts its transitions.
`agentctl.engine.apply` makes the next one; nothing else may. Instants are microseconds since
the Unix epoch; JSON fields hold plain JSON values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from attr import field, frozen

from agentctl.machines.compiled import (
    APPROVAL,
    ARTIFACT,
    COMPENSATION,
    EFFECT,
    ITERATION,
    RECONCILIATION,
    RUN,
    TASK,
)
from agentctl.value import Value

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentctl.clock import Instant
    from agentctl.jsonvalue import JsonObject, JsonValue
    from agentctl.machines.names import (
        ApprovalState,
        ArtifactState,
        CompensationState,
        EffectState,
        IterationState,
        MachineName,
        ReconciliationState,
        RunState,
        TaskState,
    )

RunMode = Literal["run", "resume", "retry", "repair", "replay", "fork", "compensation"]
Disposition = Literal["executed", "reused", "recorded"]
EffectClass = Literal[
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
Idempotency = Literal["pure", "idempotent", "keyed", "at_most_once", "unknown"]
Risk = Literal["low", "medium", "high", "critical"]


@frozen(kw_only=True, eq=False, repr=False)
class Transition(Value):
    """The proof of one move: what moved, how, when, by whom and why.

    `entity` names the record within its run ("" for the run itself). `version` is the record's
    new version. `actor` is None for the engine itself. The store adds the sequence number and
    the digest chain.
    """

    machine: MachineName
    entity: str
    version: int
    event: str
    source: str
    target: str
    at: Instant
    actor: str | None = None
    detail: JsonValue = None


@frozen(kw_only=True, eq=False, repr=False)
class RunRecord(Value):
    """One run of one plan; `raised_budgets` replaces limits of the plan, by name.

    `folder` is where the files that the workflow names are looked for, and `file` the name of the
    workflow's own file in it, "" for one that came as text.
    """

    machine: ClassVar[MachineName] = "run"
    table: ClassVar = RUN

    id: str
    state: RunState = RUN.initial
    version: int = 0
    mode: RunMode = "run"
    workflow_name: str
    workflow_digest: str
    plan_digest: str
    source_run_id: str | None = None
    trace_id: str
    workspace: str
    folder: str = ""
    file: str = ""
    inputs: JsonObject
    vars: JsonObject = field(factory=dict)
    created_at: Instant
    ended_at: Instant | None = None
    output: JsonValue = None
    error: JsonValue = None
    raised_budgets: JsonObject | None = None

    @property
    def entity(self) -> str:
        """The run itself has the empty name in its own journal."""
        return ""


@frozen(kw_only=True, eq=False, repr=False)
class TaskRecord(Value):
    """One task of one run; `position` is its place in the compiled order.

    `snapshot` keeps the working memory that a waiting task read, until it is over.
    """

    machine: ClassVar[MachineName] = "task"
    table: ClassVar = TASK

    id: str
    position: int
    state: TaskState = TASK.initial
    version: int = 0
    attempt: int = 0
    disposition: Disposition | None = None
    started_at: Instant | None = None
    ended_at: Instant | None = None
    due_at: Instant | None = None
    output: JsonValue = None
    error: JsonValue = None
    snapshot: JsonValue = None

    @property
    def entity(self) -> str:
        """A task is named by its id."""
        return self.id


def effect_name(task_id: str, attempt: int, ordinal: int) -> str:
    """Return an effect's short name within its run."""
    return f"{task_id}/{attempt}.{ordinal}"


@frozen(kw_only=True, eq=False, repr=False)
class EffectRecord(Value):
    """One effect: requested, perhaps dispatched, perhaps confirmed.

    `number` counts the effects of the run from 1, and `position` is the task's place in the
    compiled order. `id` is the identity digest (specification, section 5); `name` is the short local name
    `TASK/ATTEMPT.ORDINAL`. `dispatch` counts how often the executor was started.
    """

    machine: ClassVar[MachineName] = "effect"
    table: ClassVar = EFFECT

    id: str
    name: str
    task_id: str
    number: int
    position: int
    attempt: int
    ordinal: int
    operation: str
    effect_class: EffectClass
    risk: Risk
    idempotency: Idempotency
    input: JsonValue
    input_digest: str
    key_digest: str
    state: EffectState = EFFECT.initial
    version: int = 0
    dispatch: int = 0
    requested_at: Instant
    started_at: Instant | None = None
    ended_at: Instant | None = None
    result: JsonValue = None
    error: JsonValue = None

    @property
    def entity(self) -> str:
        """An effect is named by task, attempt and ordinal."""
        return self.name

    @property
    def idempotency_key(self) -> str:
        """The key an outside system may deduplicate by; the same over dispatches and attempts."""
        return f"agentctl-{self.key_digest}"


@frozen(kw_only=True, eq=False, repr=False)
class IterationRecord(Value):
    """One iteration of a loop; `id` is the child task's id."""

    machine: ClassVar[MachineName] = "iteration"
    table: ClassVar = ITERATION

    id: str
    parent: str
    index: int
    state: IterationState = ITERATION.initial
    version: int = 0

    @property
    def entity(self) -> str:
        """An iteration is named by its child task."""
        return self.id


@frozen(kw_only=True, eq=False, repr=False)
class ApprovalRecord(Value):
    """A durable question to a person, bound to the exact effect it would allow.

    `request_digest` is the digest of everything that is asked (`engine.asking`). After
    `expires_at` nobody can answer any more; without it, the question stays open.
    """

    machine: ClassVar[MachineName] = "approval"
    table: ClassVar = APPROVAL

    id: str
    task_id: str
    effect_id: str
    request_digest: str
    summary: str
    state: ApprovalState = APPROVAL.initial
    version: int = 0
    requested_at: Instant
    expires_at: Instant | None = None
    decided_at: Instant | None = None
    actor: str | None = None
    reason: str | None = None

    @property
    def entity(self) -> str:
        """An approval is named by its id."""
        return self.id


@frozen(kw_only=True, eq=False, repr=False)
class ReconciliationRecord(Value):
    """What people or a probe found out about one uncertain effect; the newest finding.

    Every finding is a move of the journal with its actor, reason and evidence, so none is lost.
    `result` stands for the effect's own when it was applied. `compensation_effect` is the id of
    the confirmed effect that undid it. `spent` is what its probes took of the run's budgets.
    """

    machine: ClassVar[MachineName] = "reconciliation"
    table: ClassVar = RECONCILIATION

    effect_name: str
    effect_id: str
    state: ReconciliationState = RECONCILIATION.initial
    version: int = 0
    opened_at: Instant
    decided_at: Instant | None = None
    actor: str | None = None
    reason: str | None = None
    evidence: JsonValue = None
    result: JsonValue = None
    compensation_effect: str | None = None
    spent: JsonObject | None = None

    @property
    def entity(self) -> str:
        """A reconciliation is named by its effect."""
        return self.effect_name


@frozen(kw_only=True, eq=False, repr=False)
class CompensationRecord(Value):
    """What a compensation did about one effect of its source; it belongs to the compensation.

    `effect_name` and `effect_id` are the source's; `task_id` is the inverse's task here, which has
    the name of the source's task.
    """

    machine: ClassVar[MachineName] = "compensation"
    table: ClassVar = COMPENSATION

    effect_name: str
    effect_id: str
    task_id: str
    state: CompensationState = COMPENSATION.initial
    version: int = 0

    @property
    def entity(self) -> str:
        """A compensation is named by the effect that it undoes."""
        return self.effect_name


@frozen(kw_only=True, eq=False, repr=False)
class ArtifactRecord(Value):
    """A run's reference to bytes that one of its effects kept.

    `name` is `EFFECT#PLACE` within the run, and `number` counts the run's artifacts from 1.
    `digest` is the SHA-256 of the bytes in hex. `logical_path` says what they are, as a path of
    the workspace where they were written there; `media_type` is a hint.
    """

    machine: ClassVar[MachineName] = "artifact"
    table: ClassVar = ARTIFACT

    name: str
    number: int
    task_id: str
    digest: str
    size_bytes: int
    logical_path: str
    media_type: str | None = None
    state: ArtifactState = ARTIFACT.initial
    version: int = 0
    created_at: Instant

    @property
    def entity(self) -> str:
        """An artifact is named by its effect and its place among what that kept."""
        return self.name

    @property
    def effect_name(self) -> str:
        """The effect that kept it; in a derived run, the effect of the run it was taken from."""
        return self.name.rpartition("#")[0]


@frozen(kw_only=True, eq=False, repr=False)
class LateReport(Value):
    """What a process said of an effect after it had lost the run: evidence, and no move.

    `token` is the fencing token that it still held; `dispatch` says which start it speaks of.
    """

    effect_name: str
    token: int
    dispatch: int
    state: EffectState
    result: JsonValue
    error: JsonValue
    at: Instant


@frozen(kw_only=True, eq=False, repr=False)
class MemoryWrite(Value):
    """One change of working memory, with the task that made it."""

    key: str
    value: JsonValue
    task_id: str


@frozen(kw_only=True, eq=False, repr=False)
class StreamEvent(Value):
    """One bounded progress record of a provider stream.

    `sequence` counts the records of the task's attempt from 1, over all its model calls.
    `provider_sequence` is the place of the event that it came with in the provider's own stream,
    from 1; None for what the provider did not say. The store sets `number`, which counts the
    run's records as they were stored, and `after`, the last transition before it.
    """

    task_id: str
    attempt: int
    sequence: int
    provider_sequence: int | None = None
    number: int = 0
    after: int = 0
    effect_id: str
    event_type: str
    payload: JsonValue
    truncated: bool
    at: Instant


@frozen(kw_only=True, eq=False, repr=False)
class RunHistory(Value):
    """What is stored about one run, as the engine resumes from it.

    `stream_counts` says how many stream records a task's attempt has.
    """

    run: RunRecord
    plan: JsonObject
    tasks: tuple[TaskRecord, ...]
    effects: tuple[EffectRecord, ...]
    iterations: tuple[IterationRecord, ...]
    approvals: tuple[ApprovalRecord, ...]
    reconciliations: tuple[ReconciliationRecord, ...] = ()
    compensations: tuple[CompensationRecord, ...] = ()
    late_reports: tuple[LateReport, ...] = ()
    artifacts: tuple[ArtifactRecord, ...] = ()
    memory: Mapping[str, JsonValue]
    stream_counts: Mapping[tuple[str, int], int] = field(factory=dict)
