"""Named sets of states, so that no other package lists states by hand.

Built from `names`; a test holds them against the tables.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentctl.machines.compiled import (
    APPROVAL,
    ARTIFACT,
    COMPENSATION,
    EFFECT,
    ITERATION,
    RECONCILIATION,
    RUN,
    SESSION,
    TASK,
)
from agentctl.machines.names import (
    ApprovalStates,
    ArtifactStates,
    CompensationStates,
    EffectStates,
    IterationStates,
    ReconciliationStates,
    RunStates,
    SessionStates,
    TaskStates,
)

if TYPE_CHECKING:
    from agentctl.machines.names import (
        ApprovalState,
        ArtifactState,
        CompensationState,
        EffectState,
        IterationState,
        ReconciliationState,
        RunState,
        SessionState,
        TaskState,
    )

RUN_FINAL: frozenset[RunState] = RUN.finals
# Work can be done now, without anything from outside.
RUN_ACTIVE: frozenset[RunState] = frozenset({RunStates.created, RunStates.running})
# Nothing can be done until a person decides or a quota returns.
RUN_PARKED: frozenset[RunState] = frozenset(
    {RunStates.paused, RunStates.waiting, RunStates.budget_exceeded}
)
RUN_LIVE: frozenset[RunState] = RUN_ACTIVE | RUN_PARKED

TASK_FINAL: frozenset[TaskState] = TASK.finals
# The task has an output that others may read.
TASK_SATISFIED: frozenset[TaskState] = frozenset({TaskStates.succeeded})
# The task ended without an output.
TASK_UNSATISFIED: frozenset[TaskState] = TASK_FINAL - TASK_SATISFIED
# The task came to an end of its own: nobody stopped it.
TASK_CONCLUDED: frozenset[TaskState] = TASK_FINAL - {TaskStates.cancelled}
# The task was admitted and is not over.
TASK_LIVE: frozenset[TaskState] = frozenset(
    {
        TaskStates.ready,
        TaskStates.running,
        TaskStates.waiting_for_approval,
        TaskStates.waiting_for_effect,
        TaskStates.waiting_for_budget,
        TaskStates.waiting_for_quota,
        TaskStates.retry_scheduled,
    }
)
# What its next effect may use up is spent, so that nothing else of its run may start either.
TASK_STARVED: frozenset[TaskState] = frozenset(
    {TaskStates.waiting_for_budget, TaskStates.waiting_for_quota}
)
# The task waits for a person, or for a quota.
TASK_BLOCKED: frozenset[TaskState] = TASK_STARVED | {
    TaskStates.waiting_for_approval,
    TaskStates.waiting_for_effect,
}
TASK_OPEN: frozenset[TaskState] = TASK_LIVE | {TaskStates.pending}

EFFECT_FINAL: frozenset[EffectState] = EFFECT.finals
EFFECT_OPEN: frozenset[EffectState] = frozenset(
    {EffectStates.requested, EffectStates.waiting_for_approval, EffectStates.started}
)
# Nothing was dispatched, so it may still be started or withdrawn.
EFFECT_UNDISPATCHED: frozenset[EffectState] = EFFECT_OPEN - {EffectStates.started}
EFFECT_CONFIRMED: frozenset[EffectState] = frozenset({EffectStates.succeeded})
# It may have happened, and the journal alone cannot say.
EFFECT_UNSETTLED: frozenset[EffectState] = frozenset({EffectStates.uncertain})
EFFECT_SETTLED: frozenset[EffectState] = EFFECT_FINAL - EFFECT_UNSETTLED

ITERATION_FINAL: frozenset[IterationState] = ITERATION.finals
# Its body ran to the end.
ITERATION_COMPLETE: frozenset[IterationState] = frozenset(
    {IterationStates.done, IterationStates.exhausted}
)

APPROVAL_FINAL: frozenset[ApprovalState] = APPROVAL.finals
# It can still allow its effect.
APPROVAL_STANDING: frozenset[ApprovalState] = frozenset(
    {ApprovalStates.pending, ApprovalStates.approved}
)

RECONCILIATION_FINAL: frozenset[ReconciliationState] = RECONCILIATION.finals
# Evidence decided what became of the effect.
RECONCILIATION_DECIDED: frozenset[ReconciliationState] = frozenset(
    {
        ReconciliationStates.applied,
        ReconciliationStates.not_applied,
        ReconciliationStates.compensated,
    }
)
# The effect is not in the world, so what asked for it may ask afresh.
RECONCILIATION_ABSENT: frozenset[ReconciliationState] = frozenset(
    {ReconciliationStates.not_applied, ReconciliationStates.compensated}
)

COMPENSATION_FINAL: frozenset[CompensationState] = COMPENSATION.finals
# A person or the engine can still bring it forward.
COMPENSATION_OPEN: frozenset[CompensationState] = frozenset(
    {
        CompensationStates.planned,
        CompensationStates.blocked,
        CompensationStates.running,
        CompensationStates.failed,
        CompensationStates.uncertain,
    }
)

ARTIFACT_FINAL: frozenset[ArtifactState] = ARTIFACT.finals
# Not visible yet: a lost writer's leavings are in one of these.
ARTIFACT_INGESTING: frozenset[ArtifactState] = frozenset(
    {ArtifactStates.staging, ArtifactStates.synced}
)

SESSION_FINAL: frozenset[SessionState] = SESSION.finals
SESSION_LIVE: frozenset[SessionState] = frozenset(
    {SessionStates.opening, SessionStates.open, SessionStates.lost}
)
