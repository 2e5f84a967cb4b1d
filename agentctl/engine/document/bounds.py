"""The bounds that a field declares, in words.

Above: reading and the JSON Schema. The names are JSON Schema's own.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from agentctl.text.nodes import Sequence

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentctl.diagnostics import DiagnosticCode
    from agentctl.text.nodes import Node


def broken_bound(
    value: object, node: Node, bounds: Mapping[str, Any]
) -> tuple[DiagnosticCode, str] | None:
    """Return the code and the text of what is wrong with a value, or None.

    A list is measured as it is written: entries that could not be read still count.
    """
    measured = node.items if isinstance(node, Sequence) else value
    for name, bound in bounds.items():
        message = _CHECKS[name](measured, bound)
        if message is not None:
            # Only a JSON Schema says its type itself; any other type is the field's own.
            return ("invalid_schema" if name == "type" else "schema_violation"), message
    return None


def _type(value: Any, _: Any) -> str | None:
    return None if isinstance(value, dict | bool) else "a JSON Schema is an object, true or false"


def _minimum(value: Any, bound: Any) -> str | None:
    return None if value >= bound else f"{value} is too small; at least {bound}"


def _maximum(value: Any, bound: Any) -> str | None:
    return None if value <= bound else f"{value} is too large; at most {bound}"


def _exclusive_minimum(value: Any, bound: Any) -> str | None:
    return None if value > bound else f"{value} is too small; more than {bound}"


def _pattern(value: Any, bound: Any) -> str | None:
    # In a JSON Schema `$` is the end; in Python it also stands before a last line break.
    return None if re.fullmatch(bound, value) else f"{value!r} does not match {bound}"


def _min_items(value: Any, bound: Any) -> str | None:
    entries = "entry is" if bound == 1 else "entries are"
    return None if len(value) >= bound else f"at least {bound} {entries} needed"


def _max_items(value: Any, bound: Any) -> str | None:
    return None if len(value) <= bound else f"{len(value)} entries; at most {bound}"


def _min_length(value: Any, bound: Any) -> str | None:
    return None if len(value) >= bound else "must not be empty"


_CHECKS = {
    "type": _type,
    "minimum": _minimum,
    "maximum": _maximum,
    "exclusiveMinimum": _exclusive_minimum,
    "pattern": _pattern,
    "minItems": _min_items,
    "maxItems": _max_items,
    "minLength": _min_length,
}
