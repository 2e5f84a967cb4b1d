"""A layered layout of directed graphs, left to right, with room for every label.

Above: `svg` and whoever else draws. Below: nothing. It is pure arithmetic on sizes in pixels, and
the same graph always gives the same picture.

Ranks are longest paths over the edges that close no cycle. Between two ranks lies a column for
labels; an edge owns one slot in each column that it passes, so no edge runs through a box and no
two labels overlap. Rows are ordered by barycentres, then pulled towards their neighbours.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from itertools import pairwise
from typing import TYPE_CHECKING, TypeAlias

from attr import define, field, frozen

from agentctl.value import Value

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

Point: TypeAlias = "tuple[float, float]"
Size: TypeAlias = "tuple[float, float]"

_GAP_X = 22.0
_GAP_Y = 14.0
_LOOP = 26.0
_SWEEPS = 12


@frozen(eq=False, repr=False)
class Link(Value):
    """A directed edge and the size of its label."""

    source: str
    target: str
    label: Size = (0.0, 0.0)


@frozen(eq=False, repr=False)
class Route(Value):
    """Where an edge runs: curves and straight pieces in turn, and the middle of its label."""

    points: tuple[Point, ...]
    label_at: Point
    is_loop: bool = False


@frozen(eq=False, repr=False)
class Layout(Value):
    """Sizes and places in pixels; `routes` follow the order of the links."""

    width: float
    height: float
    centres: Mapping[str, Point]
    routes: tuple[Route, ...]


@define(eq=False, repr=False)
class _Slot:
    """A place in a column: a node's box, or an edge passing through."""

    width: float
    height: float
    order: int = 0
    y: float = 0.0
    left: list[_Slot] = field(factory=list)
    right: list[_Slot] = field(factory=list)


_Columns: TypeAlias = "list[list[_Slot]]"


def lay_out(
    nodes: Mapping[str, Size], links: Sequence[Link], last: Collection[str] = ()
) -> Layout:
    """Return the places of nodes and links; the nodes in `last` share the last column."""
    loops = {link.source: link.label for link in links if link.source == link.target}
    ranks = _ranks(tuple(nodes), links, last)
    columns: _Columns = [[] for _ in range(2 * max(ranks.values(), default=0) + 1)]
    boxes: dict[str, _Slot] = {}
    for name, (width, height) in nodes.items():
        extra = loops[name][1] + _LOOP if name in loops else 0.0
        boxes[name] = _Slot(max(width, loops.get(name, (0.0, 0.0))[0]), height + extra)
        columns[2 * ranks[name]].append(boxes[name])
    chains = [_chain(link, ranks, boxes, columns) for link in links]
    _order(columns)
    height = _place_rows(columns)
    edges = _column_edges(columns)
    centres = {
        name: (sum(edges[2 * ranks[name]]) / 2, slot.y + (slot.height - nodes[name][1]) / 2)
        for name, slot in boxes.items()
    }
    ports = _ports(boxes)
    routes = []
    for link, chain in zip(links, chains, strict=True):
        if not chain:
            routes.append(_loop(link, centres[link.source], nodes[link.source]))
            continue
        ends = sorted((link.source, link.target), key=lambda name: ranks[name])
        first, end = (
            _port(centres[name], nodes[name], side, ports[boxes[name], slot])
            for name, side, slot in zip(ends, (0.5, -0.5), (chain[0], chain[-1]), strict=True)
        )
        column = 2 * ranks[ends[0]] + 1
        points = [first, *_across(chain, edges[column:]), end]
        named = _label_column(link, ranks)
        label_at = (sum(edges[named]) / 2, chain[named - column].y)
        routes.append(Route(tuple(points if ends[0] == link.source else points[::-1]), label_at))
    return Layout(edges[-1][1] if columns else 0.0, height, centres, tuple(routes))


def _ranks(names: Sequence[str], links: Sequence[Link], last: Collection[str]) -> dict[str, int]:
    """Return each node's longest path from a root, without the edges that close a cycle."""
    following: dict[str, list[str]] = {name: [] for name in names}
    for link in links:
        if link.target != link.source:
            following[link.source].append(link.target)
    finished, forward = _search(names, following)
    ranks = dict.fromkeys(names, 0)
    for name in reversed(finished):
        for target in forward[name]:
            ranks[target] = max(ranks[target], ranks[name] + 1)
    if last:
        deepest = max(ranks.values())
        ranks |= dict.fromkeys(last, deepest)
    return ranks


def _search(
    names: Sequence[str], following: Mapping[str, Sequence[str]]
) -> tuple[list[str], dict[str, list[str]]]:
    """Return the nodes in the order a depth-first search leaves them, and its forward edges."""
    finished: list[str] = []
    forward: dict[str, list[str]] = {name: [] for name in names}
    entered: set[str] = set()
    open_now: set[str] = set()
    for root in names:
        if root in entered:
            continue
        entered.add(root)
        open_now.add(root)
        path = [(root, iter(following[root]))]
        while path:
            name, rest = path[-1]
            target = next(rest, None)
            if target is None:
                path.pop()
                open_now.discard(name)
                finished.append(name)
            elif target not in open_now:
                forward[name].append(target)
                if target not in entered:
                    entered.add(target)
                    open_now.add(target)
                    path.append((target, iter(following[target])))
    return finished, forward


def _chain(
    link: Link, ranks: Mapping[str, int], boxes: Mapping[str, _Slot], columns: _Columns
) -> list[_Slot]:
    """Add the slots of an edge to the columns between its ends; return them from left to right."""
    if link.source == link.target:
        return []
    start, end = sorted((2 * ranks[link.source], 2 * ranks[link.target]))
    labelled = _label_column(link, ranks)
    chain = []
    for column in range(start + 1, end):
        slot = _Slot(*link.label) if column == labelled else _Slot(0.0, 2.0)
        columns[column].append(slot)
        chain.append(slot)
    is_forward = ranks[link.source] < ranks[link.target]
    ends = (link.source, link.target) if is_forward else (link.target, link.source)
    whole = [boxes[ends[0]], *chain, boxes[ends[1]]]
    for left, right in pairwise(whole):
        left.right.append(right)
        right.left.append(left)
    return chain


def _label_column(link: Link, ranks: Mapping[str, int]) -> int:
    """Return the column next to the source, on the side of the target."""
    own = 2 * ranks[link.source]
    return own + 1 if ranks[link.target] * 2 > own else own - 1


def _order(columns: _Columns) -> None:
    """Sort every column by the mean place of its neighbours, keeping the best order met."""
    _number(columns)
    best = _crossings(columns)
    kept = [list(column) for column in columns]
    for sweep in range(_SWEEPS):
        to_right = sweep % 2 == 0
        for column in columns if to_right else reversed(columns):
            column.sort(key=lambda slot: _barycentre(slot, slot.left if to_right else slot.right))
            for place, slot in enumerate(column):
                slot.order = place
        found = _crossings(columns)
        if found < best:
            best, kept = found, [list(column) for column in columns]
    for column, order in zip(columns, kept, strict=True):
        column[:] = order
    _number(columns)


def _number(columns: _Columns) -> None:
    for column in columns:
        for place, slot in enumerate(column):
            slot.order = place


def _barycentre(slot: _Slot, others: Sequence[_Slot]) -> float:
    return sum(other.order for other in others) / len(others) if others else float(slot.order)


def _crossings(columns: _Columns) -> int:
    count = 0
    for column in columns:
        seen: list[int] = []
        for slot in column:
            ends = sorted(other.order for other in slot.right)
            count += sum(len(seen) - bisect_right(seen, end) for end in ends)
            for end in ends:
                insort(seen, end)
    return count


def _place_rows(columns: _Columns) -> float:
    """Give every slot its height on the page; return the height of the page."""
    for column in columns:
        _settle(column, [0.0] * len(column))
    for sweep in range(_SWEEPS):
        for column in columns if sweep % 2 == 0 else reversed(columns):
            _settle(column, [_pull(slot) for slot in column])
    every = [slot for column in columns for slot in column]
    top = min((slot.y - slot.height / 2 for slot in every), default=0.0)
    for slot in every:
        slot.y -= top
    return max((slot.y + slot.height / 2 for slot in every), default=0.0)


def _pull(slot: _Slot) -> float:
    others = [*slot.left, *slot.right]
    return sum(other.y for other in others) / len(others) if others else slot.y


def _settle(column: Sequence[_Slot], wishes: Iterable[float]) -> None:
    """Move slots as near to their wishes as order and gaps allow (least squares)."""
    offsets: list[float] = []
    reach = 0.0
    for place, slot in enumerate(column):
        if place:
            reach += (column[place - 1].height + slot.height) / 2 + _GAP_Y
        offsets.append(reach)
    pools: list[tuple[float, int]] = []
    for wish, offset in zip(wishes, offsets, strict=True):
        total, count = wish - offset, 1
        while pools and pools[-1][0] / pools[-1][1] >= total / count:
            more, members = pools.pop()
            total, count = total + more, count + members
        pools.append((total, count))
    bases = [total / count for total, count in pools for _ in range(count)]
    for slot, base, offset in zip(column, bases, offsets, strict=True):
        slot.y = base + offset


def _column_edges(columns: _Columns) -> list[Point]:
    """Return the left and right edge of every column."""
    edges: list[Point] = []
    x = 0.0
    for column in columns:
        width = max((slot.width for slot in column), default=0.0)
        edges.append((x, x + width))
        x += width + _GAP_X
    return edges


def _ports(boxes: Mapping[str, _Slot]) -> dict[tuple[_Slot, _Slot], float]:
    """Return where on a box's side, from -0.5 to 0.5, each edge's nearest slot is tied."""
    ports: dict[tuple[_Slot, _Slot], float] = {}
    for box in boxes.values():
        for side in (box.left, box.right):
            tied = sorted(side, key=lambda slot: slot.y)
            for place, slot in enumerate(tied):
                ports[box, slot] = (place + 0.5) / len(tied) - 0.5
    return ports


def _port(centre: Point, size: Size, side: float, place: float) -> Point:
    return (centre[0] + side * size[0], centre[1] + place * size[1] * 0.8)


def _across(chain: Sequence[_Slot], edges: Sequence[Point]) -> list[Point]:
    """Return the straight pieces on which an edge crosses its columns."""
    crossed = zip(chain, edges, strict=False)
    return [(x, slot.y) for slot, (left, right) in crossed for x in (left, right)]


def _loop(link: Link, centre: Point, size: Size) -> Route:
    top = centre[1] - size[1] / 2
    half = min(size[0] / 4, 18.0)
    points = ((centre[0] - half, top), (centre[0] + half, top))
    return Route(points, (centre[0], top - _LOOP + 6 - link.label[1] / 2), is_loop=True)
