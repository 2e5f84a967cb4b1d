"""Sorting graphs and naming their cycles."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from agentctl.engine.compiler.order import Closure, topological, written


def test_declaration_order_decides_among_the_ready() -> None:
    order, cycles = topological({"c": [], "a": ["z"], "b": [], "z": []})
    assert order == ["c", "b", "z", "a"]
    assert cycles == []


def test_a_cycle_is_named_from_its_first_declared_member() -> None:
    order, cycles = topological({"x": ["y"], "c": ["a"], "a": ["b"], "b": ["c"], "y": []})
    assert order == ["y", "x"]
    assert [written(one) for one in cycles] == ["c -> a -> b -> c"]


def test_a_task_that_needs_itself_is_a_cycle() -> None:
    assert topological({"a": ["a"]}) == ([], [["a", "a"]])


def test_cycles_without_a_common_task_are_all_named() -> None:
    _, cycles = topological({"a": ["b"], "b": ["a"], "c": ["d"], "d": ["c"], "e": ["a", "c"]})
    assert [written(one) for one in cycles] == ["a -> b -> a", "c -> d -> c"]


def test_a_need_of_a_need_is_behind() -> None:
    closure = Closure({"a": [], "b": ["a"], "c": ["b"], "d": []})
    assert closure.is_behind("c", "a")
    assert not closure.is_behind("a", "c")
    assert not closure.is_behind("c", "d")
    assert not closure.is_behind("c", "unknown")


GRAPHS = st.integers(1, 12).flatmap(
    lambda count: st.lists(
        st.lists(st.integers(0, count - 1), max_size=4), min_size=count, max_size=count
    )
)


@given(GRAPHS)
def test_the_closure_is_what_following_the_needs_reaches(graph: list[list[int]]) -> None:
    needs = {
        f"t{place}": [f"t{one}" for one in found if one < place]
        for place, found in enumerate(graph)
    }
    reached: dict[str, set[str]] = {}
    for name, found in needs.items():
        reached[name] = set(found).union(*(reached[one] for one in found))
    closure = Closure(needs)
    for name, behind in reached.items():
        assert {one for one in needs if closure.is_behind(name, one)} == behind


@given(GRAPHS)
def test_cycles_do_not_hang_the_closure(graph: list[list[int]]) -> None:
    needs = {f"t{place}": [f"t{one}" for one in found] for place, found in enumerate(graph)}
    closure = Closure(needs)
    for name in needs:
        closure.is_behind(name, "t0")


@given(GRAPHS)
def test_the_order_respects_every_need_and_every_cycle_is_real(graph: list[list[int]]) -> None:
    needs = {f"t{place}": [f"t{one}" for one in found] for place, found in enumerate(graph)}
    order, cycles = topological(needs)
    places = {name: place for place, name in enumerate(order)}
    assert all(places[need] < places[name] for name in order for need in needs[name])
    assert bool(cycles) == (len(order) < len(needs))
    for cycle in cycles:
        assert cycle[0] == cycle[-1]
        assert all(after in needs[name] for name, after in pairwise(cycle))
