"""What the engine asks of the outside: a store, executors, time and randomness.

Above: the engine, which calls these. Below: `agentctl.store`, `agentctl.effects` and the test
kit, which provide them. A port has few verbs, and every one says what it raises.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Protocol, runtime_checkable

from attr import field, frozen

from agentctl.value import Value

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping

    from agentctl.clock import Instant
    from agentctl.engine.apply import Work
    from agentctl.engine.records import (
        EffectClass,
        EffectRecord,
        Idempotency,
        Risk,
        RunHistory,
        RunMode,
        RunRecord,
        StreamEvent,
        TaskRecord,
        Transition,
    )
    from agentctl.jsonvalue import JsonObject, JsonValue


@frozen(kw_only=True, eq=False, repr=False)
class NewRun(Value):
    """Everything the first commit of a run writes.

    `start_key` makes it the only run under that key; `request_digest` says what was asked for.
    """

    run: RunRecord
    plan: JsonObject
    tasks: tuple[TaskRecord, ...]
    memory: Mapping[str, JsonValue]
    source: str = ""
    start_key: str | None = None
    request_digest: str = ""


@frozen(kw_only=True, eq=False, repr=False)
class EffectRequest(Value):
    """What a task asks an executor to do.

    `hints` is for the executor alone (limits, a registered function): it never reaches the
    digest or the database, because the plan already fixes it. `capability` and `names` are
    what the policy is asked about.
    """

    operation: str
    effect_class: EffectClass
    idempotency: Idempotency
    risk: Risk
    input: JsonValue
    timeout_seconds: float
    capability: str = ""
    names: tuple[str, ...] = ()
    approval: Literal["policy", "never", "always"] = "policy"
    hints: Mapping[str, object] = field(factory=dict)


class Emit(Protocol):
    """Persists one bounded progress record before it returns.

    `text`, `delta` and `arguments` in an object are the next piece of a longer text.
    `provider_sequence` is the place in the provider's own stream, from 1.
    """

    def __call__(
        self, event_type: str, payload: JsonValue, provider_sequence: int | None = None
    ) -> Awaitable[None]:
        """Return once the record is durable."""
        ...


@frozen(kw_only=True, eq=False, repr=False)
class EffectContext(Value):
    """What every executor is given beside the effect itself.

    Whoever reads from outside awaits `emit` before it reads on: so nothing gathers in memory.
    `artifacts` keeps exact bytes, which the run refers to once the effect is confirmed.
    `secrets` gives the values that the document refers to. Results, errors, progress and
    artifacts may hold them: the dispatcher redacts all of it before anything is stored.
    `observed` is what the executor knows of an effect that is cut short; it is kept with the
    error.
    """

    workspace: str
    definitions: JsonObject
    hints: Mapping[str, object]
    emit: Emit
    artifacts: ArtifactShelf
    secrets: SecretKeeper
    observed: dict[str, JsonValue] = field(factory=dict)


class SecretKeeper(Protocol):
    """The secrets of one run: found when they are used, and taken out of all that is kept.

    Everything here is for the run's own event loop.
    """

    @property
    def known(self) -> int:
        """How many values were found so far; with none there is nothing to redact."""
        ...

    async def resolve(self, reference: Mapping[str, JsonValue]) -> str:
        """Return the value of `{env}`, `{file}` or `{process}`, the same for the whole run.

        Raises SecretMissing, and EffectError (`policy_denied`) for what the policy does not
        list. Either is definite, and no message ever holds a value.
        """
        ...

    async def environment(self, references: Mapping[str, JsonObject]) -> dict[str, str]:
        """Return a process's variables: each one is listed by the policy, and resolved.

        Raises as `resolve` does, and EffectError for a name that is not in
        `policy.environmentAllowlist`.
        """
        ...

    async def remember(self, references: Iterable[JsonObject]) -> None:
        """Resolve again what an earlier process of this run knew; what is missing stays so.

        What is known to no plan, such as the secrets of registered functions, is added.
        """
        ...

    def redact(self, value: JsonValue) -> JsonValue:
        """Return a JSON value without any value that was found, however it is encoded."""
        ...

    def redact_text(self, text: str) -> str:
        """Return a text without any value that was found."""
        ...

    def redact_bytes(self, data: bytes) -> bytes:
        """Return bytes without any value that was found."""
        ...

    def stream(self) -> TextRedaction:
        """Return what redacts a text that arrives in pieces, by the values known now."""
        ...


class TextRedaction(Protocol):
    """Redacts a text in pieces, also where a value is split over several."""

    def feed(self, piece: str) -> str:
        """Take a piece in, and return what can be shown by now."""
        ...

    def finish(self) -> str:
        """Return what was held back, because no more will come."""
        ...


class OpenSecrets(Protocol):
    """Makes the keeper of one drive of one run."""

    def __call__(self, policy: JsonObject, workspace: str) -> SecretKeeper:
        """Return a keeper that knows no value yet."""
        ...


class ArtifactShelf(Protocol):
    """Keeps bytes for one dispatch."""

    def keep(self, data: bytes, logical_path: str, media_type: str | None = None) -> str:
        """Make bytes durable and return their SHA-256 in hex.

        `logical_path` says what they are: a path relative to the workspace where there is one.
        Raises EffectError above ARTIFACT_BYTES_MAX, and StoreError.
        """
        ...


class ArtifactSink(Protocol):
    """Makes bytes durable under their digest, before any record refers to them."""

    def ingest(self, data: bytes) -> str:
        """Store bytes and return their SHA-256 in hex; they are on the disk by then.

        They cannot be collected before a commit that refers to them is stored, `forgo` is
        called, or the run's journal is released. Raises StoreError.
        """
        ...

    def forgo(self, digest: str) -> None:
        """Say that no commit will refer to what was ingested once."""
        ...


class Journal(Protocol):
    """The exclusive right to write one run, held under a lease with a fencing token."""

    @property
    def run_id(self) -> str:
        """The run this journal belongs to."""
        ...

    @property
    def sequence(self) -> int:
        """The number of the last transition that is written."""
        ...

    @property
    def artifacts(self) -> ArtifactSink:
        """Where the run's artifacts go; a commit with their records settles them."""
        ...

    def commit(self, work: Work) -> None:
        """Write one unit of work, whole or not at all, durably.

        Raises StaleVersion, LeaseLost, StoreBusy, StoreFull or another StoreError.
        """
        ...

    def on_cancel(self, notify: Callable[[str, str], None]) -> None:
        """Call `notify(actor, reason)` from another thread when someone asks to cancel."""
        ...

    def release(self) -> None:
        """Give the lease back."""
        ...


class RunCreator(Protocol):
    """Takes a new run in."""

    def create_run(self, new: NewRun, work: Work) -> Journal:
        """Store a new run with its first unit of work, and own it.

        Raises AlreadyStarted with the run that has the start key, and StartKeyReused when that
        run was asked for with something else.
        """
        ...


class Store(RunCreator, Protocol):
    """Keeps runs; the only writer of state."""

    def started_under(self, key: str, request_digest: str) -> str | None:
        """Return the run that has a start key.

        Raises StartKeyReused when it was asked for with something else.
        """
        ...

    def claim_run(self, run_id: str, now: Instant) -> Journal:
        """Take the lease of an existing run.

        Raises UnknownRun, or RunHeld with host, pid and since when a live process owns it.
        """
        ...

    def load_run(self, run_id: str) -> RunHistory:
        """Read all that resuming needs. Raises UnknownRun."""
        ...

    def transitions(self, run_id: str, after: int = 0) -> list[tuple[int, Transition]]:
        """Read the journal from a sequence number on, oldest first."""
        ...

    def run_of_approval(self, approval_id: str) -> str | None:
        """Return the run that an approval request belongs to."""
        ...

    def stream_events(self, run_id: str, after: int = 0) -> list[StreamEvent]:
        """Read a run's stream records from a number on, as they were stored."""
        ...

    def source_of(self, run_id: str) -> str:
        """Return the text that a run was compiled from; "" where none was kept."""
        ...

    def runs_made_from(self, run_id: str, mode: RunMode) -> list[str]:
        """Return the runs of one mode that name a run as their source, oldest first."""
        ...

    def check_artifacts(self, run_id: str) -> None:
        """Read every artifact of a run. Raises ArtifactDamaged with the digests of bad ones."""
        ...

    def request_cancel(self, run_id: str, actor: str, reason: str, now: Instant) -> None:
        """Leave a durable request that the owner of the run will see."""
        ...


class Executor(Protocol):
    """Does one kind of effect in the outside world.

    Raises EffectError with `retryable` and `ambiguous` set; any other exception is a definite
    failure only when the operation cannot have left a mark.
    """

    async def execute(self, effect: EffectRecord, context: EffectContext) -> JsonValue:
        """Perform the effect and return its result."""
        ...


class Preflight(Protocol):
    """Refuses a request before it is put on the ledger, because something it needs is missing."""

    def __call__(self, request: EffectRequest, definitions: JsonObject) -> None:
        """Return if the request can be dispatched. Raises EffectError."""
        ...


@runtime_checkable
class Careful(Protocol):
    """An executor that looks whether it could act before the ledger hears of the request."""

    @property
    def preflight(self) -> Preflight:
        """The check."""
        ...


class Timer(Protocol):
    """Waits for an instant; the test kit's manual clock waits in no time at all."""

    async def sleep_until(self, due: Instant) -> None:
        """Return when the clock has reached `due`."""
        ...


class Entropy(Protocol):
    """Source of ids; tests give a deterministic one."""

    def run_id(self, now: Instant) -> str:
        """Return a new, time-ordered run id."""
        ...

    def trace_id(self) -> str:
        """Return a new trace id, 32 hex digits (W3C Trace Context)."""
        ...
