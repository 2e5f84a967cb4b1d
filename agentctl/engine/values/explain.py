"""Where every value comes from, as data: names and origins, never values.

Above: `agentctl explain`. Below: layers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentctl.engine.values.layers import Layer
    from agentctl.jsonvalue import JsonObject, JsonValue


def explain_layers(scope: str, layers: Sequence[Layer]) -> JsonObject:
    """Return the layers of one scope, low to high, and each name's winner.

    `scope` is `inputs`, `spec`, or a task such as `spec.tasks.analyze`. The shape is
    `{scope, layers: [{origin, names}], values: [{name, origin, overrides: [origin…]}]}`, where
    `overrides` lists the losers from high to low.
    """
    return {
        "scope": scope,
        "layers": [{"origin": one.origin, "names": _names(one)} for one in layers],
        "values": [_value(name, layers) for name in _all_names(layers)],
    }


def _names(layer: Layer) -> list[JsonValue]:
    return [*sorted(layer.values)]


def _all_names(layers: Sequence[Layer]) -> list[str]:
    return sorted({name for one in layers for name in one.values})


def _value(name: str, layers: Sequence[Layer]) -> JsonValue:
    origins = [one.origin for one in reversed(layers) if name in one.values]
    losers: list[JsonValue] = [*origins[1:]]
    return {"name": name, "origin": origins[0], "overrides": losers}
