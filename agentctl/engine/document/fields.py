"""How the document model declares a field: its name in documents, its bounds, its meaning.

Above: the model. The same metadata drives reading, the JSON Schema and the normal form.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attr import NOTHING, Attribute, Factory, field, fields

if TYPE_CHECKING:
    from collections.abc import Callable

MEANING = "meaning"
NAME = "name"
BOUNDS = "bounds"
FACTORY = "factory"


class Part:
    """What the classes of the model share: equality and a readable form.

    Every start of the command line makes all these classes. Comparing and showing them by two
    methods here, not by generated ones of each class, halves the time of that.
    """

    __slots__ = ()
    __hash__ = None  # type: ignore[assignment] # parts hold lists and objects

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        return all(
            getattr(self, one.name) == getattr(other, one.name) for one in _attributes(self)
        )

    def __repr__(self) -> str:
        shown = ", ".join(f"{one.name}={getattr(self, one.name)!r}" for one in _attributes(self))
        return f"{type(self).__name__}({shown})"


def _attributes(part: Part) -> tuple[Attribute[Any], ...]:
    cls: type = type(part)
    declared: tuple[Attribute[Any], ...] = fields(cls)
    return declared


def item(
    meaning: str,
    default: object = NOTHING,
    *,
    factory: Any = None,
    name: str | None = None,
    **bounds: object,
) -> Any:
    """Declare one field of a document.

    `bounds` use JSON Schema's words: minimum, maximum, exclusiveMinimum, pattern, minItems,
    maxItems, minLength.
    """
    given = Factory(factory) if factory is not None else default
    metadata: dict[str, object] = {MEANING: meaning, BOUNDS: bounds, FACTORY: factory}
    if name is not None:
        metadata[NAME] = name
    return field(default=given, metadata=metadata)


def document_name(attribute: Attribute[Any]) -> str:
    """Return a field's name in documents: camelCase of its own unless it says otherwise."""
    said: str | None = attribute.metadata.get(NAME)
    return said or camel(attribute.name)


def default_of(attribute: Attribute[Any]) -> object:
    """Return a fresh default of a field, NOTHING where it has none."""
    factory: Callable[[], object] | None = attribute.metadata[FACTORY]
    return attribute.default if factory is None else factory()


def camel(name: str) -> str:
    """Return a snake_case name in camelCase, without a trailing underscore."""
    first, *rest = name.rstrip("_").split("_")
    return first + "".join(part.capitalize() for part in rest)
