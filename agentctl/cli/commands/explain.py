"""`agentctl explain`."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from agentctl.cli import options
from agentctl.cli.command import command, single
from agentctl.cli.console import Console

if TYPE_CHECKING:
    from agentctl.jsonvalue import JsonObject, JsonValue

app = single()


@command(app, "explain")
def explain(
    console: Console,
    file: options.File,
    inputs: options.InputsJson = None,
    inputs_file: options.InputsFile = None,
    input: options.Inputs = None,
    vars_file: options.VarsFiles = None,
    var: options.Vars = None,
    workspace: options.Workspace = None,
) -> int:
    """Show which layer each input and variable comes from; never a value."""
    from agentctl.cli import given, loading
    from agentctl.engine.values.explain import explain_layers
    from agentctl.engine.values.inputs import input_layers

    from_file = None if inputs_file is None else given.inputs(None, inputs_file, None)
    loaded = loading.load(loading.open_engine(console), file, workspace, vars_file, var)
    loading.show_warnings(console, loaded)
    defaults = cast("JsonObject", loaded.plan.definitions["inputs"])
    layered = input_layers(defaults, inputs, from_file, input or (), file_name=inputs_file or "")
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
