"""Semantic versions and the ranges that packs ask for.

Above: packs. Below: nothing. Pure.

A range is a comma list of `^V`, `~V`, `>=V`, `>V`, `<=V`, `<V`, `=V`, a bare `V` or `*`, and all
of them must hold. Missing parts count as 0 in a bound; in an exact version they match anything.
"""

from __future__ import annotations

import re
from typing import Final, TypeAlias

from attr import frozen

from agentctl.value import Value

_VERSION: Final = re.compile(
    r"(0|[1-9]\d{0,8})\.(0|[1-9]\d{0,8})\.(0|[1-9]\d{0,8})"
    r"(?:-([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?(?:\+[0-9A-Za-z.-]+)?"
)
_BOUND: Final = re.compile(
    r"(\^|~|>=|<=|>|<|=)?\s*(\d{1,9})(?:\.(\d{1,9}))?(?:\.(\d{1,9}))?(?:-([0-9A-Za-z.-]+))?"
)

_Identifier: TypeAlias = tuple[int, int, str]


@frozen(order=True)
class Version:
    """A semantic version, ordered as releases are; build metadata is ignored."""

    major: int
    minor: int
    patch: int
    # A release comes after its pre-releases, hence the leading flag.
    pre: tuple[bool, tuple[_Identifier, ...]] = (True, ())


@frozen(eq=False, repr=False)
class _Bound(Value):
    operator: str
    parts: tuple[int, ...]
    pre: str


def parse_version(text: str) -> Version | None:
    """Read MAJOR.MINOR.PATCH with an optional pre-release, or return None."""
    found = _VERSION.fullmatch(text)
    if found is None:
        return None
    major, minor, patch, pre = found.groups()
    return Version(int(major), int(minor), int(patch), _pre(pre or ""))


def is_range(text: str) -> bool:
    """Return whether a text is a range of versions."""
    return _bounds(text) is not None


def in_range(version: Version, text: str) -> bool:
    """Return whether a version lies within a range; False for a text that is none.

    A pre-release is only in a range that names one.
    """
    bounds = _bounds(text)
    if bounds is None:
        return False
    if not version.pre[0] and not any(one.pre for one in bounds):
        return False
    return all(_holds(version, one) for one in bounds)


def _pre(text: str) -> tuple[bool, tuple[_Identifier, ...]]:
    if not text:
        return (True, ())
    return (False, tuple(_identifier(part) for part in text.split(".")))


def _identifier(part: str) -> _Identifier:
    # Numbers come before words, and compare as numbers.
    return (0, int(part), "") if part.isdecimal() and part.isascii() else (1, 0, part)


def _bounds(text: str) -> list[_Bound] | None:
    if text.strip() == "*":
        return []
    made: list[_Bound] = []
    for piece in text.split(","):
        found = _BOUND.fullmatch(piece.strip())
        if found is None:
            return None
        operator, *numbers, pre = found.groups()
        parts = tuple(int(one) for one in numbers if one is not None)
        made.append(_Bound(operator or "=", parts, pre or ""))
    return made


def _holds(version: Version, bound: _Bound) -> bool:
    low = _floor(bound)
    if bound.operator == "=":
        have = (version.major, version.minor, version.patch)[: len(bound.parts)]
        return have == bound.parts and (len(bound.parts) < 3 or version.pre == low.pre)
    if bound.operator == ">=":
        return version >= low
    if bound.operator == ">":
        return version > low
    if bound.operator == "<=":
        return version <= low
    if bound.operator == "<":
        return version < low
    return low <= version < _ceiling(bound)


def _floor(bound: _Bound) -> Version:
    major, minor, patch = (*bound.parts, 0, 0)[:3]
    return Version(major, minor, patch, _pre(bound.pre))


def _ceiling(bound: _Bound) -> Version:
    """Return the first version that `^` or `~` no longer accepts."""
    major, minor, patch = (*bound.parts, 0, 0)[:3]
    named = len(bound.parts)
    if bound.operator == "~":
        return Version(major + 1, 0, 0) if named == 1 else Version(major, minor + 1, 0)
    if major or named == 1:
        return Version(major + 1, 0, 0)
    if minor or named == 2:
        return Version(0, minor + 1, 0)
    return Version(0, 0, patch + 1)
