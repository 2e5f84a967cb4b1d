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


class Closure:
    """Answers which names stand behind others, directly or indirectly.

    What is behind a name is kept as a bit set, made when it is first asked for.
    """

    def __init__(self, needs: Mapping[str, Sequence[str]]) -> None:
        self._needs = needs
        self._places = {name: place for place, name in enumerate(needs)}
        self._behind: dict[str, int] = {}

    def is_behind(self, name: str, earlier: str) -> bool:
        """Return whether `earlier` is among the direct and indirect needs of `name`."""
        if earlier in self._needs.get(name, ()):
            return True
        place = self._places.get(earlier)
        return place is not None and bool(self._behind_of(name) >> place & 1)

    def _behind_of(self, name: str) -> int:
        opened: set[str] = set()
        waiting = [name]
        while waiting:
            one = waiting[-1]
            if one in self._behind:
                waiting.pop()
                continue
            known = [need for need in self._needs.get(one, ()) if need in self._places]
            if one not in opened:
                opened.add(one)
                # What is open already is in a cycle, which is reported elsewhere.
                waiting += [need for need in known if need not in opened]
                continue
            found = 0
            for need in known:
                found |= self._behind.get(need, 0) | 1 << self._places[need]
            self._behind[one] = found
        return self._behind[name]


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
