"""The normal form of a document: plain JSON in document spelling, every default filled in.

Above: the compiler (plan and digests). Below: the model.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from attr import fields, has

from agentctl.engine.document.fields import document_name

if TYPE_CHECKING:
    from agentctl.jsonvalue import JsonValue

_names: dict[type, tuple[tuple[str, str], ...]] = {}


def to_json(value: object) -> JsonValue:
    """Return a model object, or a container of them, as JSON."""
    cls = type(value)
    names = _names.get(cls)
    if names is None and has(cls):
        names = tuple((one.name, document_name(one)) for one in fields(cls))
        _names[cls] = names
    if names is not None:
        return {shown: to_json(getattr(value, name)) for name, shown in names}
    if isinstance(value, dict):
        return {key: to_json(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [to_json(one) for one in value]
    return cast("JsonValue", value)
