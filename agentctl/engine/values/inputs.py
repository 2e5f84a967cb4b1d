"""The inputs of a run: declared defaults overlaid by what the caller gives.

Above: the CLI and the embedded engine. Below: JSON values and JSON Schema. Never: file I/O.

Low to high: the defaults, then `--inputs` or `--inputs-file`, then every `--input`. A non-null
default fixes the type of its input, unless the input schema speaks about that input.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agentctl.diagnostics import Diagnostic
from agentctl.engine.expression import json_type
from agentctl.engine.values.layers import Layer, merge_layers
from agentctl.engine.values.overrides import parse_input
from agentctl.errors import DocumentError, UsageError
from agentctl.jsonvalue import parse_json
from agentctl.suggest import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from agentctl.jsonvalue import JsonObject, JsonValue

DEFAULTS_ORIGIN: Final = "spec.inputs"
INPUTS_OPTION: Final = "invocation:--inputs"
INPUTS_FILE_OPTION: Final = "invocation:--inputs-file"
INPUT_OPTION: Final = "invocation:--input"
INVOCATION: Final = "command line"
"""What stands for the file in diagnostics about the command line."""


def resolve_inputs(
    defaults: JsonObject,
    inputs_json: str | None = None,
    inputs_file: JsonObject | None = None,
    overrides: Sequence[str] = (),
    schema: JsonValue = None,
    *,
    also_known: Collection[str] = (),
) -> JsonObject:
    """Return the inputs of a run, checked.

    `inputs_file` is the parsed file; `overrides` are `KEY=VALUE` texts; `also_known` are names
    without default that the workflow's templates use. Raises UsageError for malformed options
    and DocumentError with every unknown name, wrong type and violation of the schema.
    """
    layers = input_layers(defaults, inputs_json, inputs_file, overrides)
    values, _ = merge_layers(layers)
    problems = _unknown(values, defaults, schema, also_known)
    problems += _wrong_types(values, defaults, schema)
    problems += _violations(values, schema)
    if problems:
        raise DocumentError(problems)
    return values


def input_layers(
    defaults: JsonObject,
    inputs_json: str | None = None,
    inputs_file: JsonObject | None = None,
    overrides: Sequence[str] = (),
    *,
    file_name: str = "",
) -> list[Layer]:
    """Return the layers of the inputs, low to high, without checking names and types.

    Raises UsageError for malformed options.
    """
    layers = [Layer(DEFAULTS_ORIGIN, defaults)]
    if inputs_json is not None and inputs_file is not None:
        raise UsageError("--inputs and --inputs-file exclude each other")
    if inputs_json is not None:
        layers.append(Layer(INPUTS_OPTION, parse_inputs_json(inputs_json)))
    if inputs_file is not None:
        origin = f"{INPUTS_FILE_OPTION}:{file_name}" if file_name else INPUTS_FILE_OPTION
        layers.append(Layer(origin, inputs_file))
    if overrides:
        layers.append(Layer(INPUT_OPTION, dict(map(parse_input, overrides))))
    return layers


def parse_inputs_json(text: str) -> JsonObject:
    """Parse the value of `--inputs`; raises UsageError unless it is a JSON object."""
    try:
        value = parse_json(text)
    except (ValueError, RecursionError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise UsageError(
            f"--inputs is not JSON: {reason}", help="""write --inputs '{"name": "value"}'"""
        ) from None
    if not isinstance(value, dict):
        raise UsageError(f"--inputs must be a JSON object, not {json_type(value)}")
    return value


def known_inputs(
    defaults: JsonObject, schema: JsonValue, also_known: Iterable[str] = ()
) -> frozenset[str] | None:
    """Return the names that inputs may have, or None when the workflow leaves them open."""
    if isinstance(schema, dict):
        more = schema.get("additionalProperties", False)
        if more is not False or "patternProperties" in schema:
            return None
    names = {*defaults, *_schema_properties(schema), *also_known}
    return frozenset(names) or None


def _schema_properties(schema: JsonValue) -> JsonObject:
    found = schema.get("properties") if isinstance(schema, dict) else None
    return found if isinstance(found, dict) else {}


def _unknown(
    values: JsonObject, defaults: JsonObject, schema: JsonValue, also_known: Collection[str]
) -> list[Diagnostic]:
    known = known_inputs(defaults, schema, also_known)
    if known is None:
        return []
    return [
        Diagnostic(
            code="missing_reference",
            message=f"the workflow has no input {name!r}",
            file=INVOCATION,
            path=f"inputs.{name}",
            help=did_you_mean(name, known),
        )
        for name in values
        if name not in known
    ]


def _wrong_types(values: JsonObject, defaults: JsonObject, schema: JsonValue) -> list[Diagnostic]:
    typed_by_schema = _schema_properties(schema)
    problems: list[Diagnostic] = []
    for name, default in defaults.items():
        wanted, found = json_type(default), json_type(values[name])
        if default is None or wanted == found or name in typed_by_schema:
            continue
        quoting = f"text needs quotes: --input '{name}=\"…\"'" if wanted == "a string" else None
        problems.append(
            Diagnostic(
                code="schema_violation",
                message=f"input {name!r} must be {wanted} like its default, not {found}",
                file=INVOCATION,
                path=f"inputs.{name}",
                help=quoting,
            )
        )
    return problems


def _violations(values: JsonObject, schema: JsonValue) -> list[Diagnostic]:
    if schema is None:
        return []
    # Only workflows with an input schema pay for it.
    from agentctl.engine.schema_check import violations

    return [
        Diagnostic(
            code="schema_violation",
            message=one.message,
            file=INVOCATION,
            path=one.path or "inputs",
        )
        for one in violations(values, schema, "inputs")
    ]
