"""Whatever a document says, the compiler answers with diagnostics or a plan."""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentctl.diagnostics import has_errors
from agentctl.engine.compiler.pack import PackFile, compile_pack
from agentctl.engine.document.reader import read_data
from agentctl.engine.plan import plan_from_json
from agentctl.jsonvalue import canonical
from tests.compiler.compiling import EXAMPLES, TextFiles, compile_bytes, problems

if TYPE_CHECKING:
    from random import Random

    from agentctl.jsonvalue import JsonObject, JsonValue

NAMES = st.sampled_from(["a", "b", "c", "route", "tasks.a", "x y", "", "item", "loopIndex"])
SCALARS: st.SearchStrategy[JsonValue] = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 300),
    st.floats(allow_nan=False, allow_infinity=False, width=16),
    NAMES,
    st.sampled_from(
        [
            "${{ tasks.a.output }}",
            "${{ inputs.a }}",
            "${{ vars.item.b }}",
            "${{ memory.a == 1 }}",
            "${{ not tasks.b.output.x }}",
            "${{",
            "action:assign",
            "agent:a",
            "workflow:a",
            "router",
        ]
    ),
)
VALUES: st.SearchStrategy[JsonValue] = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(NAMES.filter(bool), inner, max_size=3)
    ),
    max_leaves=6,
)
EVERYTHING: list[JsonObject] = [
    read_data(path.read_bytes(), path.name) for path in sorted(EXAMPLES.rglob("*.yaml"))
]
MANIFESTS = [one for one in EVERYTHING if "agentctl" in one]
DOCUMENTS = [one for one in EVERYTHING if "agentctl" not in one]


def places(value: JsonValue) -> list[tuple[JsonObject | list[JsonValue], str | int]]:
    """Return every container with every key or position in it."""
    found: list[tuple[JsonObject | list[JsonValue], str | int]] = []
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            found += [(one, key) for key in one]
            waiting += one.values()
        elif isinstance(one, list):
            found += [(one, index) for index in range(len(one))]
            waiting += one
    return found


def put(container: JsonObject | list[JsonValue], key: str | int, value: JsonValue) -> None:
    """Replace one value."""
    container[key] = value  # type: ignore[index]


def text_of(document: JsonObject) -> bytes:
    """Return a document as JSON, which every reader of YAML also reads."""
    return canonical(document).encode("utf-8")


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_a_mutated_example_gives_diagnostics_or_a_plan(data: st.DataObject) -> None:
    document = mutated(data, DOCUMENTS)
    result = compile_bytes(text_of(document), TextFiles({}))
    assert (result.plan is None) == bool(problems(result))
    if result.plan is not None:
        assert plan_from_json(result.plan.to_json()) == result.plan


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_a_mutated_manifest_gives_diagnostics_or_a_summary(data: st.DataObject) -> None:
    files = TextFiles(
        {"dependency.pack": (EXAMPLES / "v1/dependency.pack").read_text(encoding="utf-8")}
    )
    raw = text_of(mutated(data, MANIFESTS))
    result = compile_pack(PackFile(raw=raw, file="pack.yaml", reader=files))
    assert (result.plan is None) == has_errors([*result.diagnostics])


def mutated(data: st.DataObject, documents: list[JsonObject]) -> JsonObject:
    """Return one of the documents with a few values replaced or gone."""
    document = deepcopy(data.draw(st.sampled_from(documents)))
    for _ in range(data.draw(st.integers(1, 4))):
        container, key = data.draw(st.sampled_from(places(document)))
        if isinstance(container, dict) and data.draw(st.booleans()):
            del container[str(key)]
        else:
            put(container, key, data.draw(VALUES))
        if not document:
            break
    return document


GRAPHS = st.integers(1, 10).flatmap(
    lambda count: st.lists(
        st.tuples(
            st.sampled_from(["plain", "foreach", "loop", "workflow"]),
            st.sets(st.integers(0, count - 1), max_size=3),
        ),
        min_size=count,
        max_size=count,
    ).map(
        lambda rows: [(kind, {n for n in needs if n < i}) for i, (kind, needs) in enumerate(rows)]
    )
)


@settings(deadline=None)
@given(GRAPHS, st.randoms(use_true_random=False))
def test_any_acyclic_graph_compiles_to_an_order_that_respects_its_needs(
    graph: list[tuple[str, set[int]]], random: Random
) -> None:
    tasks = [task(f"t{place}", kind, needs) for place, (kind, needs) in enumerate(graph)]
    random.shuffle(tasks)
    document: JsonObject = {
        "apiVersion": "agentctl.dev/v1",
        "kind": "Workflow",
        "metadata": {"name": "random"},
        "spec": {
            "actions": {"assign": {"kind": "builtin.assign"}},
            "subworkflows": {
                "sub": {"version": "1.0.0", "tasks": [{"id": "x", "uses": "action:assign"}]}
            },
            "tasks": [*tasks],
        },
    }
    plan = compile_bytes(text_of(document), TextFiles({})).plan
    assert plan is not None
    position = {name: place for place, name in enumerate(plan.order)}
    assert set(position) == set(plan.tasks)
    for name, planned in plan.tasks.items():
        assert all(position[need] < position[name] for need in planned.needs)
    for place, (_, needs) in enumerate(graph):
        assert {f"t{need}" for need in needs} <= set(plan.tasks[f"t{place}"].needs)


def task(name: str, kind: str, needs: set[int]) -> JsonObject:
    """Return a task of one of the kinds that expand."""
    made: JsonObject = {
        "id": name,
        "uses": "workflow:sub" if kind == "workflow" else "action:assign",
        "needs": [f"t{need}" for need in sorted(needs)],
    }
    if kind == "foreach":
        made["foreach"] = {"items": [1, 2]}
    elif kind == "loop":
        made["loop"] = {"maxIterations": 2, "while": "${{ vars.loopIndex < 1 }}"}
    return made


@pytest.mark.parametrize("place", range(len(DOCUMENTS)))
def test_compiling_twice_gives_the_same_answer(place: int) -> None:
    raw = text_of(DOCUMENTS[place])
    first, second = (compile_bytes(raw, TextFiles({})) for _ in range(2))
    assert first.plan == second.plan
    assert first.diagnostics == second.diagnostics
