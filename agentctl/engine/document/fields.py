"""How the document model declares a field: its name in documents, its bounds, its meaning.

Above: the model. The same metadata drives reading, the JSON Schema and the normal form.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attr import NOTHING, Attribute, Factory, field

if TYPE_CHECKING:
    from collections.abc import Callable

MEANING = "meaning"
NAME = "name"
BOUNDS = "bounds"
FACTORY = "factory"


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
    maxItems, minLength; and type, for a field that holds a JSON Schema itself.
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
