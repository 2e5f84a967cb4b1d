"""`Value`: what the frozen classes share, equality and a readable form.

attrs can generate both for each class, but compiling them is most of what making a class costs,
and every start of the command line makes a hundred. Two methods here serve them all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attr import fields

if TYPE_CHECKING:
    from attr import Attribute


class Value:
    """A value is equal to another of its own class with equal fields."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        """Compare field by field."""
        if type(self) is not type(other):
            return NotImplemented
        return all(getattr(self, one.name) == getattr(other, one.name) for one in _fields(self))

    def __hash__(self) -> int:
        """Hash the fields; raises TypeError where one of them cannot be hashed."""
        return hash(tuple(getattr(self, one.name) for one in _fields(self)))

    def __repr__(self) -> str:
        """Return the class with its fields, as one would write it."""
        shown = ", ".join(f"{one.name}={getattr(self, one.name)!r}" for one in _fields(self))
        return f"{type(self).__name__}({shown})"


def _fields(value: Value) -> tuple[Attribute[Any], ...]:
    cls: type = type(value)
    found: tuple[Attribute[Any], ...] = fields(cls)
    return found
