"""The nodes of a parsed text: what stands there, and where.

Above: the builder, reading, migration. Below: nothing. Lines and columns count from 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from attr import define

if TYPE_CHECKING:
    Place: TypeAlias = tuple[int, int]


@define(eq=False, repr=False)
class Scalar:
    """A text; `plain` says that it stands without quotes and so may mean another type."""

    text: str
    plain: bool
    line: int
    column: int


@define(eq=False, repr=False)
class Sequence:
    """A list."""

    items: list[Node]
    line: int
    column: int


@define(eq=False, repr=False)
class Mapping:
    """An object; `keys` are the places of its keys."""

    entries: dict[str, Node]
    keys: dict[str, Place]
    line: int
    column: int


Node: TypeAlias = "Scalar | Sequence | Mapping"


class Refused(Exception):
    """The text cannot be a tree; `place` is the line and column of the reason."""

    def __init__(self, message: str, place: Place, help: str | None = None) -> None:
        self.message, self.place, self.help = message, place, help
        super().__init__(message)
