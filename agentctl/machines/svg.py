"""SVG pictures of directed graphs, without any drawing program.

Above: `draw`, and whoever draws a plan. Below: `layout`. The text is the same for the same graph.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from attr import frozen

from agentctl.machines.layout import Link, lay_out
from agentctl.value import Value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentctl.machines.layout import Layout, Point, Route, Size

_CHARACTER = 7.3
_LINE = 15.0
_MARGIN = 16.0
_PADDING = 12.0

_STYLE = """\
text{font:12px ui-monospace,Menlo,Consolas,monospace;text-anchor:middle;fill:#1f2328}
.page{fill:#fff}.box{fill:#f6f8fa;stroke:#57606a;stroke-width:1.2}
.final{fill:#fff;stroke-width:3}.live{fill:#fff3c4;stroke:#b35900;stroke-width:2.5}
.edge{fill:none;stroke:#8c959f;stroke-width:1.3;marker-end:url(#arrow)}
.mask{fill:#fff}.label{font-size:11px;fill:#0b4f9e}"""


_ARROW = """\
<defs><marker id="arrow" viewBox="0 0 8 8" refX="7.5" refY="4" markerWidth="7" markerHeight="7"
 orient="auto"><path d="M0 0L8 4L0 8z" fill="#57606a"/></marker></defs>"""


@frozen(kw_only=True, eq=False, repr=False)
class Node(Value):
    """A box: its lines of text, whether it is an end or marked as live, and its colours.

    `colours` are fill and border, over those of its kind.
    """

    name: str
    lines: tuple[str, ...]
    is_final: bool = False
    is_live: bool = False
    colours: tuple[str, str] | None = None


@frozen(kw_only=True, eq=False, repr=False)
class Edge(Value):
    """An arrow between two boxes and the lines of its label."""

    source: str
    target: str
    lines: tuple[str, ...] = ()


def picture(title: str, nodes: Sequence[Node], edges: Sequence[Edge]) -> str:
    """Return an SVG document that shows a graph from left to right."""
    sizes = {node.name: _box_size(node.lines) for node in nodes}
    links = [Link(edge.source, edge.target, _label_size(edge.lines)) for edge in edges]
    placed = lay_out(sizes, links, [node.name for node in nodes if node.is_final])
    lines = _head(title, placed)
    lines += [f'<path class="edge" d="{_path(route)}"/>' for route in placed.routes]
    for edge, link, route in zip(edges, links, placed.routes, strict=True):
        lines += _label(edge.lines, link.label, route.label_at)
    for node in nodes:
        lines += _box(node, sizes[node.name], placed.centres[node.name])
    return "\n".join([*lines, "</g>", "</svg>"]) + "\n"


def _head(title: str, placed: Layout) -> list[str]:
    width = round(placed.width + 2 * _MARGIN)
    height = round(placed.height + 2 * _MARGIN)
    size = f'width="{width}" height="{height}"'
    return [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} viewBox="0 0 {width} {height}">',
        f"<title>{escape(title)}</title>",
        f"<style>{_STYLE}</style>",
        _ARROW,
        f'<rect class="page" {size}/>',
        f'<g transform="translate({_MARGIN:g} {_MARGIN:g})">',
    ]


def _path(route: Route) -> str:
    """Return the curve: bends between columns, straight pieces across them."""
    (x, y), *rest = route.points
    parts = [f"M{_number(x)} {_number(y)}"]
    if route.is_loop:
        (end, _) = rest[0]
        up = _number(y - 26)
        return (
            f"{parts[0]}C{_number(x - 6)} {up} {_number(end + 6)} {up} {_number(end)} {_number(y)}"
        )
    for place, (to_x, to_y) in enumerate(rest):
        if place % 2:
            parts.append(f"H{_number(to_x)}")
        else:
            middle = _number((x + to_x) / 2)
            here, there = _number(y), _number(to_y)
            parts.append(f"C{middle} {here} {middle} {there} {_number(to_x)} {there}")
        x, y = to_x, to_y
    return "".join(parts)


def _label(lines: Sequence[str], size: Size, centre: Point) -> list[str]:
    if not lines:
        return []
    x, y = centre[0] - size[0] / 2, centre[1] - size[1] / 2
    mask = (
        f'<rect class="mask" x="{_number(x)}" y="{_number(y)}" rx="3"'
        f' width="{_number(size[0])}" height="{_number(size[1])}"/>'
    )
    return [mask, *_texts(lines, centre, "label")]


def _box(node: Node, size: Size, centre: Point) -> list[str]:
    kind = "box" + (" final" if node.is_final else "") + (" live" if node.is_live else "")
    x, y = centre[0] - size[0] / 2, centre[1] - size[1] / 2
    over = f' style="fill:{node.colours[0]};stroke:{node.colours[1]}"' if node.colours else ""
    shape = (
        f'<rect class="{kind}"{over} x="{_number(x)}" y="{_number(y)}" rx="8"'
        f' width="{_number(size[0])}" height="{_number(size[1])}"/>'
    )
    return [shape, *_texts(node.lines, centre, "name")]


def _texts(lines: Sequence[str], centre: Point, kind: str) -> list[str]:
    first = centre[1] - (len(lines) - 1) * _LINE / 2 + 4
    return [
        f'<text class="{kind}" x="{_number(centre[0])}"'
        f' y="{_number(first + place * _LINE)}">{escape(line)}</text>'
        for place, line in enumerate(lines)
    ]


def _box_size(lines: Sequence[str]) -> Size:
    width, height = _text_size(lines)
    return (width + 2 * _PADDING, height + _PADDING)


def _label_size(lines: Sequence[str]) -> Size:
    width, height = _text_size(lines)
    return (width + 4, height) if lines else (0.0, 2.0)


def _text_size(lines: Sequence[str]) -> Size:
    return (max(map(len, lines), default=0) * _CHARACTER, len(lines) * _LINE)


def _number(value: float) -> str:
    """Return a coordinate with at most one decimal, and never a negative zero."""
    return f"{round(value, 1) + 0.0:.1f}".removesuffix(".0")
