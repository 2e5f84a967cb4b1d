"""A person's answer to a durable approval request.

Above: the embedded door and the CLI. The answer is stored by itself; resuming the run acts on
it. Source: specification, section 8.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentctl.engine.apply import Work
from agentctl.errors import UsageError

if TYPE_CHECKING:
    from agentctl.clock import Instant
    from agentctl.engine.ports import Store
    from agentctl.engine.records import ApprovalRecord


def decide(
    approval_id: str, store: Store, now: Instant, *, approve: bool, actor: str, reason: str
) -> ApprovalRecord:
    """Store an approval or a rejection.

    Raises UsageError for an unknown request, IllegalTransition for one that was decided.
    """
    run_id = store.run_of_approval(approval_id)
    if run_id is None:
        raise UsageError(
            f"no approval request {approval_id}", help="see `agentctl approvals list RUN`"
        )
    journal = store.claim_run(run_id, now)
    try:
        found = {one.id: one for one in store.load_run(run_id).approvals}[approval_id]
        work = Work()
        decided = work.move(
            found,
            "approve" if approve else "reject",
            now,
            actor=actor,
            detail={"reason": reason},
            decided_at=now,
            reason=reason,
        )
        journal.commit(work)
    finally:
        journal.release()
    return decided
