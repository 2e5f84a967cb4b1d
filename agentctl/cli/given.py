"""What the command line gives a workflow: inputs and variables, parsed.

Above: `check`, `plan`, `run`, `explain`. Below: `engine.values`, which knows the rules.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from agentctl.errors import UsageError
from agentctl.limits import VARS_FILE_BYTES_MAX

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentctl.jsonvalue import JsonObject, JsonValue
    from agentctl.machines.legality import Operation
    from agentctl.machines.names import RunState


def inputs(inline: str | None, file: str | None, pairs: Sequence[str] | None) -> JsonObject:
    """Return the inputs of `--inputs` or `--inputs-file`, overridden by each `--input` pair.

    Raises UsageError.
    """
    from agentctl.engine.values.inputs import parse_inputs_json
    from agentctl.engine.values.overrides import parse_input

    if inline is not None and file is not None:
        raise UsageError("--inputs and --inputs-file exclude each other")
    base: JsonObject = {}
    if inline is not None:
        base = parse_inputs_json(inline)
    elif file is not None:
        base = _from_file(file)
    return {**base, **dict(parse_input(one) for one in pairs or ())}


def run_states(asked: Sequence[str], *, operation: Operation | None = None) -> list[RunState]:
    """Return the run states of `--state` options, where each may hold several with commas.

    Raises UsageError for what is no state, or one in which the operation is not legal.
    """
    from agentctl.machines.compiled import RUN
    from agentctl.machines.legality import cell_of, legal_states
    from agentctl.suggest import did_you_mean

    known = RUN.states if operation is None else sorted(legal_states(operation))
    found = []
    for one in (part for text in asked for part in text.split(",") if part):
        if operation is not None and one in RUN.states and one not in known:
            says = cell_of(operation, one).says
            raise UsageError(f"{one}: {says}", help=f"choose among {', '.join(known)}")
        if one not in known:
            raise UsageError(f"no run state {one!r}", help=did_you_mean(one, known))
        found.append(cast("RunState", one))
    return found


def variables(pairs: Sequence[str] | None) -> dict[str, JsonValue]:
    """Return the variables of every `--var`; the last one of a name wins. Raises UsageError."""
    if not pairs:
        return {}
    from agentctl.engine.values.overrides import parse_vars

    return dict(parse_vars(pairs))


def json_or_text(text: str, option: str) -> JsonValue:
    """Return an option's value: JSON if it parses, else the text itself. Raises UsageError."""
    from agentctl.engine.values.overrides import parse_input

    name, value = parse_input(f"{option.strip('-')}={text}")
    assert name == option.strip("-"), "an option's name is plain"
    return value


def _from_file(file: str) -> JsonObject:
    from agentctl.jsonvalue import parse_json

    option = f"--inputs-file {file}"
    try:
        with open(file, "rb") as opened:
            data = opened.read(VARS_FILE_BYTES_MAX + 1)
    except (OSError, ValueError) as error:
        raise UsageError(f"{option}: {getattr(error, 'strerror', None) or error}") from None
    if len(data) > VARS_FILE_BYTES_MAX:
        raise UsageError(f"{option} is larger than {VARS_FILE_BYTES_MAX} bytes")
    try:
        value = parse_json(data.decode("utf-8"))
    except UnicodeDecodeError:
        raise UsageError(f"{option} is not UTF-8") from None
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{option} is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise UsageError(f"{option} must hold one JSON object: inputs by name")
    return value
