"""`Engine`: the door for services that embed agentctl, and what the CLI itself stands on.

    from agentctl import Engine

    engine = Engine("state.db")

    @engine.action("charge", idempotency="keyed")
    async def charge(amount: int, idempotency_key: str) -> dict[str, object]: ...

    outcome = await engine.start(engine.load("order.yaml"), inputs={"amount": 5})

Async calls come first; every one has a `…_sync` twin for scripts, which must not be called from
a running event loop. An engine holds no global state: several may live in one process.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Self, cast

from attr import evolve

from agentctl.blocking import blocking
from agentctl.clock import SystemClock
from agentctl.comparing import Comparing
from agentctl.compensating import Compensating
from agentctl.deciding import Deciding
from agentctl.deriving import Deriving, require_reachable
from agentctl.effects.system import SystemEntropy, SystemTimer
from agentctl.errors import UncertainEffect
from agentctl.machines.names import RunStates
from agentctl.registering import Registering
from agentctl.requesting import Requesting
from agentctl.starting import Starting

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from agentctl.clock import Clock
    from agentctl.engine.events import Listener, RunOutcome
    from agentctl.engine.operations.raising import BudgetRaise
    from agentctl.engine.plan import Plan
    from agentctl.engine.ports import Entropy, Executor, Timer
    from agentctl.engine.records import RunHistory
    from agentctl.engine.runner import Runner, RunPorts
    from agentctl.jsonvalue import JsonObject, JsonValue
    from agentctl.loading import Loaded
    from agentctl.store.sqlite import SqliteStore


DEFAULT_DATABASE = ".agentctl/runtime.db"


class Engine(Registering, Starting, Deciding, Requesting, Compensating, Comparing, Deriving):
    """Loads workflows, and starts, resumes, cancels, replays and inspects runs.

    `db` is the SQLite file, made on first use. `durability` "full" survives a power failure,
    "normal" a crash of the process. `workspace` is the folder that workflows may touch; it
    defaults to the current directory.
    """

    def __init__(
        self,
        db: str | Path = DEFAULT_DATABASE,
        *,
        durability: Literal["full", "normal"] = "full",
        workspace: str | Path | None = None,
        clock: Clock | None = None,
        entropy: Entropy | None = None,
        timer: Timer | None = None,
        shared_filesystem: bool = False,
        wrap_store: Callable[[SqliteStore], SqliteStore] | None = None,
    ) -> None:
        super().__init__()
        self._db = Path(db)
        self._durability = durability
        self._workspace = None if workspace is None else Path(workspace)
        self._clock = clock or SystemClock()
        self._entropy = entropy or SystemEntropy()
        self._timer = timer or _timer_of(self._clock)
        self._shared_filesystem = shared_filesystem
        self._wrap_store = wrap_store
        self._store: SqliteStore | None = None
        self._listeners: list[Listener] = []
        self._runners: dict[str, Runner] = {}

    @property
    def store(self) -> SqliteStore:
        """The database, opened on first use."""
        if self._store is None:
            from agentctl.store import open_store

            opened = open_store(
                self._db,
                durability=self._durability,
                clock=self._clock,
                shared_filesystem=self._shared_filesystem,
            )
            self._store = opened if self._wrap_store is None else self._wrap_store(opened)
        return self._store

    def close(self) -> None:
        """Close the database; the engine opens it again when it is used again."""
        if self._store is not None:
            self._store.close()
            self._store = None

    def __enter__(self) -> Self:
        """Return the engine itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the database."""
        self.close()

    def load(
        self,
        source: str | Path | Mapping[str, JsonValue],
        *,
        workspace: str | Path | None = None,
        vars_files: Sequence[str] = (),
        variables: Mapping[str, JsonValue] | None = None,
    ) -> Loaded:
        """Compile a workflow from a path, a text with a line break, or a mapping.

        Raises DocumentError with every problem at once.
        """
        from agentctl.loading import load

        return load(
            source,
            workspace=str(workspace or self._workspace or Path.cwd()),
            vars_files=vars_files,
            variables=dict(variables or {}),
            functions=self._functions.values(),
        )

    async def start(
        self,
        loaded: Loaded,
        *,
        inputs: JsonObject | None = None,
        workspace: str | Path | None = None,
        timeout_seconds: float | None = None,
        interactive: bool = False,
        key: str | None = None,
    ) -> RunOutcome:
        """Run a workflow until it ends or has to wait for a person.

        `inputs` overlay the workflow's defaults. `interactive` says that somebody is there to
        be asked, so that the policy's `nonInteractive` does not apply. A run that was started
        with the same `key` is returned as it stands. Raises DocumentError for inputs that do not
        fit, StartKeyReused, PrerequisiteError when something outside is missing; a run that
        fails is an outcome, not an exception.
        """
        from agentctl.engine.operations.once import start_once
        from agentctl.engine.operations.start import start

        plan = loaded.plan
        request = evolve(
            self._start_request(loaded, inputs, workspace, key),
            timeout_seconds=timeout_seconds,
            interactive=interactive,
        )

        async def begin() -> RunOutcome:
            await require_reachable(plan)
            ports = self._ports(plan)
            return await self._run(start(request, self.store, self._entropy, ports))

        if key is None:
            return await begin()
        return await start_once(request, self.store, begin)

    async def resume(
        self,
        run_id: str,
        *,
        timeout_seconds: float | None = None,
        raise_budgets: Mapping[str, int] | None = None,
        actor: str = "",
        interactive: bool = False,
    ) -> RunOutcome:
        """Go on with a run after a crash, a pause or a decision.

        `raise_budgets` lets a run that its budget stopped go on under higher limits, by their
        names in the document; `actor` is who raises them. `interactive` is as in `start`. The
        recorded plan is what runs, whatever the workflow's file says by now: see `changes`.
        Raises UnknownRun, StateError when the run is over or its budget spent, AgentFileChanged
        when an agent file is not what it was when the run was started, UncertainEffect
        while an effect waits for reconciliation that no automatic probe could settle, and
        RunHeld while another process owns the run.
        """
        from agentctl.effects.sources import FilesBelow
        from agentctl.engine.operations.resume import resume

        async def go_on(raised: BudgetRaise | None) -> RunOutcome:
            return await self._run(
                resume(
                    run_id,
                    self.store,
                    self._clock.now(),
                    self._ports,
                    FilesBelow(),
                    timeout_seconds=timeout_seconds,
                    raised=raised,
                    interactive=interactive,
                )
            )

        raised = _raised(raise_budgets, actor)
        if raised is not None:
            raised = evolve(raised, actor=self._secrets_of_run(run_id).redact_text(actor))
        try:
            outcome = await go_on(raised)
        except UncertainEffect:
            if not await self._settles_itself(run_id):
                raise
            return await go_on(raised)
        if outcome.state != RunStates.paused or not await self._settles_itself(run_id):
            return outcome
        return await go_on(None)

    async def cancel(self, run_id: str, *, actor: str, reason: str = "") -> RunOutcome | None:
        """Cancel a run; None means that its live owner was asked to."""
        from agentctl.engine.operations.cancel import cancel

        mine = self._runners.get(run_id)
        # A cancellation does not wait for programs that print secrets.
        if mine is None:
            secrets = self._secrets_of_run(run_id, programs=False)
        else:
            run = mine.state.run
            secrets = self._secrets_of(mine.state.plan, run.workspace, programs=False)
        who, why = secrets.redact_text(actor), secrets.redact_text(reason)
        if mine is not None:
            mine.interrupt(who, why)
            return None
        return cancel(run_id, self.store, self._clock.now(), actor=who, reason=why)

    def interrupt(self, actor: str, reason: str) -> None:
        """Ask every run of this engine to cancel durably; for signal handlers on the loop."""
        for runner in list(self._runners.values()):
            runner.interrupt(actor, reason)

    async def preview(
        self,
        loaded: Loaded,
        *,
        inputs: JsonObject | None = None,
        workspace: str | Path | None = None,
    ) -> JsonObject:
        """Say what a run would do, touching nothing and storing nothing."""
        from agentctl.effects.preview import preview_executors
        from agentctl.engine.operations.preview import preview
        from agentctl.engine.operations.start import StartRequest
        from agentctl.engine.programs import operations

        request = StartRequest(
            plan=loaded.plan,
            inputs=loaded.inputs(inputs),
            vars=loaded.overrides,
            workspace=self._workspace_of(loaded.plan, workspace),
        )
        return await preview(
            request,
            self._entropy,
            self._make_ports(preview_executors(operations(loaded.plan))),
        )

    def history(self, run_id: str) -> RunHistory:
        """Read everything stored about a run. Raises UnknownRun."""
        return self.store.load_run(run_id)

    def inspect(self, run_id: str) -> JsonObject:
        """Return a run as `agentctl inspect --output json` shows it. Raises UnknownRun."""
        from agentctl.engine.view import inspect_view

        return inspect_view(
            self.store.load_run(run_id),
            self.store.transitions(run_id),
            stream=self.store.stream_events(run_id),
            start_key=self.store.start_key_of(run_id),
        )

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Call `listener` for every stored event of runs started after now.

        Returns a function that ends the subscription. Listeners run on the event loop between
        commits, so they must be quick.
        """
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    start_sync = blocking(start)
    resume_sync = blocking(resume)
    cancel_sync = blocking(cancel, needs_loop=False)

    async def _drive(self, runner: Runner) -> RunOutcome:
        run_id = runner.state.run.id
        self._runners[run_id] = runner
        try:
            return await runner.run()
        finally:
            del self._runners[run_id]

    def _ports(self, plan: Plan) -> RunPorts:
        from agentctl.engine.programs import operations

        return self._make_ports(self._executors(operations(plan)))

    def _catalog_executor(self) -> Executor:
        from agentctl.control.executor import CatalogExecutor

        return CatalogExecutor(self.store.entities, self._clock)

    def _make_ports(self, executors: Mapping[str, Executor]) -> RunPorts:
        from agentctl.engine.runner import RunPorts

        return RunPorts(
            clock=self._clock,
            timer=self._timer,
            executors=executors,
            open_secrets=self._open_secrets,
            listeners=tuple(self._listeners),
        )

    def _workspace_of(self, plan: Plan, workspace: str | Path | None) -> str:
        """Return the real folder that a run may touch: the workspace joined with the policy's."""
        policy = cast("JsonObject", plan.definitions["policy"])
        base = Path(workspace or self._workspace or Path.cwd())
        return os.path.realpath(base / cast("str", policy["workspaceRoot"]))


def _timer_of(clock: Clock) -> Timer:
    """Return the clock itself when it can wait, as the test kit's does."""
    if hasattr(clock, "sleep_until"):
        return cast("Timer", clock)
    return SystemTimer(clock)


def _raised(limits: Mapping[str, int] | None, actor: str) -> BudgetRaise | None:
    if not limits:
        return None
    from agentctl.engine.operations.raising import BudgetRaise

    return BudgetRaise(limits=dict(limits), actor=actor)
