"""Variables in layers: who defines a name, and who wins.

Above: the compiler, which merges the layers of each task. Below: JSON values. Never: file I/O.

Low to high: spec, agent, task (of each first its files in order, then its own `vars`), then the
invocation's files and overrides. A higher layer replaces whole top-level names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from attr import field, frozen

from agentctl.diagnostics import Diagnostic
from agentctl.value import Value

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from agentctl.jsonvalue import JsonObject, JsonValue

RESERVED_NAMES: Final = frozenset(
    {"foreachIndex", "loopIndex", "loopPrevious", "matrix", "matrixIndex"}
)
VARS_FILE_OPTION: Final = "invocation:--vars-file"
VAR_OPTION: Final = "invocation:--var"


@frozen(eq=False, repr=False)
class Layer(Value):
    """Some values and where they come from, such as `spec.tasks.analyze.vars`."""

    origin: str
    values: JsonObject


@frozen(kw_only=True, eq=False, repr=False)
class Owner(Value):
    """A part of the document that may define variables.

    `origin` names it for people (`spec.tasks.analyze`), `place` for diagnostics
    (`spec.tasks[2]`).
    """

    origin: str
    place: str
    files: tuple[str, ...] = ()
    values: JsonObject = field(factory=dict)


def merge_layers(layers: Iterable[Layer]) -> tuple[JsonObject, dict[str, str]]:
    """Merge layers given from low to high; return the values and each name's winning origin."""
    values: JsonObject = {}
    origins: dict[str, str] = {}
    for layer in layers:
        values.update(layer.values)
        origins.update(dict.fromkeys(layer.values, layer.origin))
    return values, origins


def owner_layers(owner: Owner, contents: Mapping[str, JsonObject]) -> list[Layer]:
    """Return an owner's layers, low to high.

    `contents` maps the place of each file reference (`spec.varsFiles[0]`) to its variables; a
    file that could not be read is simply absent.
    """
    layers = [
        Layer(f"{owner.origin}.varsFiles[{index}]:{path}", contents[place])
        for index, path in enumerate(owner.files)
        if (place := f"{owner.place}.varsFiles[{index}]") in contents
    ]
    if owner.values:
        layers.append(Layer(f"{owner.origin}.vars", owner.values))
    return layers


def invocation_layers(
    files: Sequence[tuple[str, JsonObject]], overrides: Sequence[tuple[str, JsonValue]]
) -> list[Layer]:
    """Return the layers of `--vars-file FILE`… (name and content) and `--var KEY=JSON`…."""
    layers = [
        Layer(f"{VARS_FILE_OPTION}[{index}]:{name}", values)
        for index, (name, values) in enumerate(files)
    ]
    if overrides:
        layers.append(Layer(VAR_OPTION, dict(overrides)))
    return layers


def check_names(names: Iterable[str], *, file: str, place: str) -> list[Diagnostic]:
    """Return a diagnostic for every reserved name; `place` is that of the mapping."""
    return [
        Diagnostic(
            code="reserved_name",
            message=f"variable {name!r} is reserved for loops and expansions",
            file=file,
            path=f"{place}.{name}",
            help="choose another name; reserved: " + ", ".join(sorted(RESERVED_NAMES)),
        )
        for name in names
        if name in RESERVED_NAMES
    ]


def check_binding(
    name: str, variables: Collection[str], *, file: str, place: str
) -> Diagnostic | None:
    """Return the problem of a `foreach.as` name that is reserved or hides a variable."""
    if name in RESERVED_NAMES:
        reason = "is reserved for loops and expansions"
    elif name in variables:
        reason = "would hide the variable of the same name"
    else:
        return None
    message = f"the binding {name!r} {reason}"
    return Diagnostic(
        code="reserved_name", message=message, file=file, path=place, help="choose another name"
    )
