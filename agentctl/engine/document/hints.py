"""The types of the model's fields, looked up when they are needed.

Above: reading and the JSON Schema. Below: the modules of the model. Making a class costs more than
reading a small document, so the sections that few workflows have stand in modules of their own,
and a field's type is looked up when a document first has that field.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final, get_type_hints

from attr import fields_dict, resolve_types

if TYPE_CHECKING:
    from collections.abc import Mapping

_SECTIONS: Final[Mapping[str, tuple[str, ...]]] = {
    "agent_model": ("Agent", "Provider", "Tool"),
    "catalog_model": ("CatalogGrant", "CatalogPolicy"),
    "effect_model": ("Container", "Probe"),
    "flow_model": (
        "Compensate",
        "Foreach",
        "Loop",
        "Matrix",
        "Retry",
        "Route",
        "Subworkflow",
    ),
    "model": ("Action", "Task"),
    "pack_model": ("PackReference",),
    "remote_model": ("A2aPeer", "McpServer"),
    "secret_model": ("Secret",),
}
"""The classes that a module of the model names and another one holds."""


class _Names(dict[str, object]):
    """Every class of `_SECTIONS` by its name; its module is imported when it is asked for."""

    def __missing__(self, name: str) -> object:
        for module, names in _SECTIONS.items():
            if name in names:
                return getattr(import_module(f"agentctl.engine.document.{module}"), name)
        raise KeyError(name)


_NAMES: Final = _Names()


@cache
def hint_of(cls: type, name: str) -> Any:
    """Return the type of one field of a model class."""
    declared = SimpleNamespace(__annotations__={name: fields_dict(cls)[name].type})
    own = vars(import_module(cls.__module__))
    return get_type_hints(declared, own, _NAMES)[name]


def resolve(cls: type) -> None:
    """Turn the types of all fields of a model class from texts into types."""
    resolve_types(cls, None, _NAMES)
