"""`agentctl explain`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, cast

import typer

from agentctl.cli import options
from agentctl.cli.command import command, single
from agentctl.cli.console import Console

if TYPE_CHECKING:
    from agentctl.jsonvalue import JsonObject, JsonValue
    from agentctl.loading import Loaded

app = single()

Subject = Annotated[
    list[str],
    typer.Argument(
        metavar="[policy] FILE",
        help="A workflow file; `policy` before it asks what its policy says of each task.",
        show_default=False,
    ),
]


@command(app, "explain")
def explain(
    console: Console,
    subject: Subject,
    inputs: options.InputsJson = None,
    inputs_file: options.InputsFile = None,
    input: options.Inputs = None,
    vars_file: options.VarsFiles = None,
    var: options.Vars = None,
    workspace: options.Workspace = None,
) -> int:
    """Show which layer each input and variable comes from, or what the policy says of each task.

    Never a value. `agentctl explain policy FILE` tells for every effect that a task may ask for
    whether it is allowed, denied, or asks a person first, and which line decides.
    """
    from agentctl.cli import given, loading

    of_policy, file = _subject(subject)
    from_file = None if inputs_file is None else given.inputs(None, inputs_file, None)
    loaded = loading.load(loading.open_engine(console), file, workspace, vars_file, var)
    loading.show_warnings(console, loaded)
    if of_policy:
        return _policy(console, loaded)
    return _values(console, loaded, inputs, from_file, input or [], inputs_file or "")


def _subject(given: list[str]) -> tuple[bool, str]:
    """Return whether the policy is asked for, and the file. Raises UsageError."""
    from agentctl.errors import UsageError
    from agentctl.suggest import did_you_mean

    if len(given) == 1:
        return False, given[0]
    if len(given) == 2 and given[0] == "policy":
        return True, given[1]
    raise UsageError(
        f"expected FILE, or `policy` and FILE; {len(given)} arguments were given",
        help=did_you_mean(given[0], ["policy"]) or "agentctl explain policy FILE",
    )


def _policy(console: Console, loaded: Loaded) -> int:
    from agentctl.cli.policy import human, located
    from agentctl.engine.policy_view import policy_view

    data = located(policy_view(loaded.plan), loaded)
    console.result("PolicyExplanation", data, lambda: human(data, colour=console.uses_colour()))
    return 0


def _values(
    console: Console,
    loaded: Loaded,
    inputs: str | None,
    from_file: JsonObject | None,
    single_inputs: list[str],
    file_name: str,
) -> int:
    from agentctl.engine.values.explain import explain_layers
    from agentctl.engine.values.inputs import input_layers

    defaults = cast("JsonObject", loaded.plan.definitions["inputs"])
    layered = input_layers(defaults, inputs, from_file, single_inputs, file_name=file_name)
    scopes = [explain_layers("inputs", layered)]
    scopes += [explain_layers(name, layers) for name, layers in loaded.layers.items()]
    listed: list[JsonValue] = [*scopes]
    data: JsonObject = {"workflow": loaded.plan.workflow_name, "scopes": listed}
    console.result("Explanation", data, lambda: _human(scopes))
    return 0


def _human(scopes: list[JsonObject]) -> str:
    from agentctl.cli.paint import table

    parts = []
    for scope in scopes:
        rows = [
            (str(one["name"]), str(one["origin"]), ", ".join(cast("list[str]", one["overrides"])))
            for one in cast("list[JsonObject]", scope["values"])
        ]
        if rows:
            parts.append(f"{scope['scope']}\n{table(('name', 'from', 'over'), rows)}")
    return "\n\n".join(parts) or "no inputs and no variables"
