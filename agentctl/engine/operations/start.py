"""Start a run: its records, its working set and a runner that will create it.

Above: the embedded door and the CLI. Below: state and runner. Nothing is stored before the
runner's first commit, which also holds the first effect requests.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from attr import frozen

from agentctl.engine.policy import Policy
from agentctl.engine.ports import NewRun
from agentctl.engine.records import RunHistory, RunRecord, TaskRecord
from agentctl.engine.runner import Runner
from agentctl.engine.state import state_from_history
from agentctl.jsonvalue import digest
from agentctl.value import Value

if TYPE_CHECKING:
    from agentctl.clock import Instant
    from agentctl.engine.plan import Plan
    from agentctl.engine.ports import Entropy, RunCreator
    from agentctl.engine.records import RunMode
    from agentctl.engine.runner import RunPorts
    from agentctl.jsonvalue import JsonObject


@frozen(kw_only=True, eq=False, repr=False)
class StartRequest(Value):
    """What a new run is made of; `source` is the document's text, kept for readers.

    `folder` is where the files that the document names are looked for, and `file` the document's
    own name in it, "" for one that came as text. `interactive` says that a person is there to be asked, whatever the policy's `nonInteractive`. `key` makes it the only
    run under that key (`operations.once`).
    """

    plan: Plan
    inputs: JsonObject
    vars: JsonObject
    workspace: str
    folder: str = ""
    file: str = ""
    source: str = ""
    timeout_seconds: float | None = None
    interactive: bool = False
    key: str | None = None

    @property
    def digest(self) -> str:
        """Return what two requests under the same start key must have in common."""
        return digest(
            {
                "workflowDigest": self.plan.workflow_digest,
                "inputs": self.inputs,
                "vars": self.vars,
            }
        )


def start(request: StartRequest, store: RunCreator, entropy: Entropy, ports: RunPorts) -> Runner:
    """Return the runner of a new run."""
    now = ports.clock.now()
    run = new_run(request, entropy, now)
    plan = request.plan
    tasks = pending_tasks(plan)
    memory = cast("JsonObject", cast("JsonObject", plan.definitions["memory"])["working"])
    body = plan.to_json()
    new = NewRun(
        run=run,
        plan=body,
        tasks=tasks,
        memory=memory,
        source=request.source,
        start_key=request.key,
        request_digest="" if request.key is None else request.digest,
    )
    history = RunHistory(
        run=run, plan=body, tasks=tasks, effects=(), iterations=(), approvals=(), memory=memory
    )
    policy = Policy.from_definitions(plan.definitions)
    runner = Runner(
        state=state_from_history(history, plan),
        policy=policy.with_a_person() if request.interactive else policy,
        ports=ports,
        open_journal=lambda work: store.create_run(new, work),
        timeout_seconds=request.timeout_seconds,
    )
    runner.state.run = runner.scheduler.work.move(run, "start", now)
    return runner


def new_run(
    request: StartRequest,
    entropy: Entropy,
    now: Instant,
    *,
    mode: RunMode = "run",
    source_run_id: str | None = None,
) -> RunRecord:
    """Return the record of a run that was not stored yet."""
    return RunRecord(
        id=entropy.run_id(now),
        mode=mode,
        workflow_name=request.plan.workflow_name,
        workflow_digest=request.plan.workflow_digest,
        plan_digest=request.plan.plan_digest,
        source_run_id=source_run_id,
        trace_id=entropy.trace_id(),
        workspace=request.workspace,
        folder=request.folder,
        file=request.file,
        inputs=request.inputs,
        vars=request.vars,
        created_at=now,
    )


def pending_tasks(plan: Plan) -> tuple[TaskRecord, ...]:
    """Return the first record of every planned task, in compiled order."""
    return tuple(
        TaskRecord(id=task_id, position=position) for position, task_id in enumerate(plan.order)
    )
