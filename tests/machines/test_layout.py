"""The layout keeps its promises for any graph."""

from __future__ import annotations

from itertools import combinations, pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from agentctl.machines.layout import Link, Size, lay_out

_NAMES = "abcdefgh"
_SIZES = st.tuples(st.floats(10, 200), st.floats(10, 60))
_LINKS = st.lists(
    st.builds(Link, st.sampled_from(_NAMES), st.sampled_from(_NAMES), st.just((30.0, 12.0))),
    max_size=14,
    unique_by=lambda link: (link.source, link.target),
)


@settings(max_examples=60, deadline=None)
@given(sizes=st.fixed_dictionaries(dict.fromkeys(_NAMES, _SIZES)), links=_LINKS)
def test_boxes_never_overlap_and_every_edge_ends_at_its_boxes(
    sizes: dict[str, Size], links: list[Link]
) -> None:
    placed = lay_out(sizes, links)
    for one, two in combinations(_NAMES, 2):
        (x, y), (u, v) = placed.centres[one], placed.centres[two]
        apart_x = abs(x - u) >= (sizes[one][0] + sizes[two][0]) / 2
        apart_y = abs(y - v) >= (sizes[one][1] + sizes[two][1]) / 2 - 1e-6
        assert apart_x or apart_y
    for link, route in zip(links, placed.routes, strict=True):
        for name, (x, y) in ((link.source, route.points[0]), (link.target, route.points[-1])):
            centre, size = placed.centres[name], sizes[name]
            assert abs(x - centre[0]) <= size[0] / 2 + 1e-6
            assert abs(y - centre[1]) <= size[1] / 2 + 1e-6
    assert lay_out(sizes, links) == placed


def test_a_chain_runs_from_left_to_right_on_one_line() -> None:
    sizes = dict.fromkeys("abc", (40.0, 20.0))
    placed = lay_out(sizes, [Link("a", "b"), Link("b", "c")])
    xs, ys = zip(*(placed.centres[name] for name in "abc"), strict=True)
    assert list(xs) == sorted(xs)
    assert max(ys) - min(ys) < 0.01


def test_an_empty_graph_has_a_picture_too() -> None:
    assert lay_out({}, []).routes == ()


def test_a_long_chain_needs_no_deep_recursion() -> None:
    names = [f"n{number}" for number in range(3000)]
    links = [Link(one, two) for one, two in pairwise(names)]
    assert len(lay_out(dict.fromkeys(names, (10.0, 10.0)), links).centres) == 3000
