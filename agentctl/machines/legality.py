"""Which operation on a run is legal in which of its states, and what to do where it is not.

Above: the operations of the engine and the store, which ask `require` and nothing else, and the
documentation, which prints `OPERATIONS`. Below: the run machine. A state that an operation does not
name is a mistake that a test finds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, Protocol, TypeAlias

from attr import frozen

from agentctl.errors import StateError
from agentctl.machines.names import RunStates
from agentctl.machines.sets import RUN_ACTIVE, RUN_FINAL, RUN_LIVE
from agentctl.value import Value

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentctl.machines.names import RunState

Operation: TypeAlias = Literal[
    "resume",
    "retry",
    "repair",
    "fork",
    "replay",
    "compensate",
    "cancel",
    "reconcile",
    "inspect",
    "verify",
    "export",
    "import",
    "gc",
]


@frozen(kw_only=True, eq=False, repr=False)
class Cell(Value):
    """What an operation does with runs in some states; with `next_step`, why it refuses them.

    In the next step, which is one command, RUN stands for the run.
    """

    states: frozenset[RunState]
    says: str
    next_step: str | None = None

    @property
    def is_legal(self) -> bool:
        """Whether the operation is legal there."""
        return self.next_step is None


def _does(states: frozenset[RunState], says: str) -> Cell:
    return Cell(states=states, says=says)


def _refuses(states: frozenset[RunState], says: str, next_step: str) -> Cell:
    return Cell(states=states, says=says, next_step=next_step)


_EVERY: Final[frozenset[RunState]] = RUN_LIVE | RUN_FINAL
_PAUSED: Final[frozenset[RunState]] = frozenset({RunStates.paused})
_WAITING: Final[frozenset[RunState]] = frozenset({RunStates.waiting})
_SPENT: Final[frozenset[RunState]] = frozenset({RunStates.budget_exceeded})
_CREATED: Final[frozenset[RunState]] = frozenset({RunStates.created})
_SUCCEEDED: Final[frozenset[RunState]] = frozenset({RunStates.succeeded})
_MISSED: Final[frozenset[RunState]] = RUN_FINAL - _SUCCEEDED

_RESUME: Final = "agentctl resume RUN"
_RAISE: Final = "agentctl resume RUN --raise-budget NAME=VALUE"


def _when_over(says: str, why: str) -> tuple[Cell, ...]:
    """Return the row of an operation that takes runs that are over."""
    return (
        _refuses(RUN_LIVE - _SPENT, why, _RESUME),
        _refuses(_SPENT, why, _RAISE),
        _does(RUN_FINAL, says),
    )


OPERATIONS: Final[Mapping[Operation, tuple[Cell, ...]]] = {
    "resume": (
        _does(RUN_ACTIVE, "goes on where it was left"),
        _does(_PAUSED, "goes on with what was decided, and waits for the rest"),
        _does(_WAITING, "goes on if the quota is there again"),
        _does(_SPENT, "goes on under a higher limit, with `--raise-budget`"),
        _refuses(_SUCCEEDED, "only a run that is not over can be resumed", "agentctl fork RUN"),
        _refuses(
            _MISSED,
            "only a run that is not over can be resumed",
            "agentctl retry FILE RUN --failed",
        ),
    ),
    "retry": _when_over("plans a new run", "a retry needs a run that is over"),
    "repair": _when_over("plans a new run", "a repair needs a run that is over"),
    "fork": (_does(_EVERY, "plans a new run with fresh effects"),),
    "replay": _when_over("copies the record", "only a run that is over can be replayed"),
    "compensate": _when_over(
        "plans the inverses of what is certain", "only a run that is over can be compensated"
    ),
    "cancel": (
        _does(RUN_LIVE, "ends the run, or asks its live owner to"),
        _refuses(RUN_FINAL, "a run that is over cannot be cancelled", "agentctl compensate RUN"),
    ),
    "reconcile": (
        _refuses(_CREATED, "it has dispatched nothing, so nothing is in doubt", _RESUME),
        _does(_EVERY - _CREATED, "records a finding about an effect in doubt"),
    ),
    "inspect": (_does(_EVERY, "shows the run"),),
    "verify": (_does(_EVERY, "checks the journal"),),
    "export": (_does(_EVERY, "writes the run to a file"),),
    "import": (
        _refuses(
            RUN_LIVE,
            "two databases could both go on with it, and do its effects twice",
            "agentctl inspect --file FILE",
        ),
        _does(RUN_FINAL, "takes the run in under its own id"),
    ),
    "gc": (
        _refuses(RUN_LIVE, "a run that is not over stays", "agentctl cancel RUN"),
        _does(RUN_FINAL, "removes the run, unless something still needs it"),
    ),
}
"""The whole table: each operation names every state of the run machine in exactly one cell."""


AT_ITS_SOURCE: Final = Cell(
    states=_EVERY,
    says="it is a compensation, which is tried again at its source",
    next_step="agentctl compensate SOURCE",
)
"""What is said of a run that undoes another one, wherever it would be begun anew."""
_BEGIN_ANEW: Final[frozenset[Operation]] = frozenset({"retry", "repair", "fork", "compensate"})


class Subject(Protocol):
    """The run that an operation is asked to work on."""

    @property
    def id(self) -> str:
        """Its id."""
        ...

    @property
    def state(self) -> RunState:
        """Where it stands."""
        ...

    @property
    def mode(self) -> str:
        """What kind of run it is."""
        ...

    @property
    def source_run_id(self) -> str | None:
        """The run that it was made from."""
        ...


def cell_of(operation: Operation, state: RunState) -> Cell:
    """Return what an operation does with a run in a state."""
    return next(one for one in OPERATIONS[operation] if state in one.states)


def legal_states(operation: Operation) -> frozenset[RunState]:
    """Return the states in which an operation is legal."""
    legal = (cell.states for cell in OPERATIONS[operation] if cell.is_legal)
    return frozenset(state for states in legal for state in states)


def refusal(operation: Operation, run: Subject) -> tuple[str, str] | None:
    """Return the message and the next step of a refusal; None where the operation is legal."""
    cell = cell_of(operation, run.state)
    if run.mode == "compensation":
        begins = operation in _BEGIN_ANEW
        is_over = run.state in RUN_FINAL and not cell.is_legal
        cell = AT_ITS_SOURCE if begins or is_over else cell
    if cell.next_step is None:
        return None
    names = {"RUN": run.id, "SOURCE": run.source_run_id or run.id}
    command = " ".join(names.get(word, word) for word in cell.next_step.split(" "))
    return f"run {run.id} is {run.state}: {cell.says}", f"`{command}`"


def require(operation: Operation, run: Subject) -> None:
    """Return if an operation is legal on a run. Raises StateError with the next step."""
    found = refusal(operation, run)
    if found is not None:
        message, next_step = found
        raise StateError(message, help=next_step, run_id=run.id)
