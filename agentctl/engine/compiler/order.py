"""The order of a graph: dependencies first, then as declared; and its cycles by name.

Above: the stages that sort tasks and find recursive workflows. Below: nothing. Pure.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def topological(needs: Mapping[str, Sequence[str]]) -> tuple[list[str], list[list[str]]]:
    """Sort the keys, which stand in declaration order, so that each comes after its needs.

    Return the order and the cycles; every cycle is a list that ends with its first name again.
    Names that are not keys are ignored. Whatever is in a cycle, or behind one, is not in the
    order.
    """
    names = list(needs)
    places = {name: place for place, name in enumerate(names)}
    waiting = [sum(1 for need in set(needs[name]) if need in places) for name in names]
    dependents: list[list[int]] = [[] for _ in names]
    for place, name in enumerate(names):
        for need in set(needs[name]):
            if need in places:
                dependents[places[need]].append(place)
    ready = [place for place, count in enumerate(waiting) if not count]
    heapify(ready)
    order: list[str] = []
    while ready:
        place = heappop(ready)
        order.append(names[place])
        for dependent in dependents[place]:
            waiting[dependent] -= 1
            if not waiting[dependent]:
                heappush(ready, dependent)
    return order, _cycles(names, places, needs, set(order)) if len(order) < len(names) else []


def is_behind(name: str, earlier: str, needs: Mapping[str, Sequence[str]]) -> bool:
    """Return whether `earlier` is among the direct and indirect needs of `name`."""
    direct = needs.get(name, ())
    if earlier in direct:
        return True
    seen: set[str] = set()
    waiting = list(direct)
    while waiting:
        one = waiting.pop()
        if one == earlier:
            return True
        if one not in seen:
            seen.add(one)
            waiting.extend(needs.get(one, ()))
    return False


def written(cycle: Sequence[str]) -> str:
    """Return a cycle as text: `a -> b -> a`."""
    return " -> ".join(cycle)


def _cycles(
    names: Sequence[str],
    places: Mapping[str, int],
    needs: Mapping[str, Sequence[str]],
    sorted_names: set[str],
) -> list[list[str]]:
    """Return cycles without a common name, one at least for every knot."""
    # Every name that is left has a need that is left; following one of them must come back.
    left = [name for name in names if name not in sorted_names]
    follow = {
        name: next(need for need in needs[name] if need in places and need not in sorted_names)
        for name in left
    }
    seen: set[str] = set()
    found: list[list[str]] = []
    for start in left:
        trail: list[str] = []
        positions: dict[str, int] = {}
        name = start
        while name not in seen:
            seen.add(name)
            positions[name] = len(trail)
            trail.append(name)
            name = follow[name]
        if name in positions:
            found.append(_rotated(trail[positions[name] :], places))
    return found


def _rotated(cycle: list[str], places: Mapping[str, int]) -> list[str]:
    """Return a cycle from its first declared name, closed."""
    at = min(range(len(cycle)), key=lambda index: places[cycle[index]])
    turned = cycle[at:] + cycle[:at]
    return [*turned, turned[0]]
