"""Repeated tasks, routers and sub-workflows as the plan writes them out."""

from __future__ import annotations

from typing import cast

from agentctl.engine.plan import Plan, plan_from_json
from tests.compiler.compiling import compile_text, problems

HEAD = """\
apiVersion: agentctl.dev/v1
kind: Workflow
metadata: {name: test}
spec:
  actions:
    assign: {kind: builtin.assign}
    remember: {kind: builtin.memory.write}
    promote: {kind: builtin.long_term_memory.promote}
"""


def plan_of(body: str) -> Plan:
    result = compile_text(HEAD + body)
    assert result.plan is not None, problems(result)
    return result.plan


def test_foreach_gives_numbered_children_and_an_aggregate_behind_them() -> None:
    plan = plan_of(
        """\
  tasks:
    - {id: first, uses: action:assign}
    - id: each
      uses: action:assign
      needs: [first]
      when: "${{ vars.item != 2 }}"
      foreach: {items: [1, 2]}
      with: {value: "${{ vars.item }}", index: "${{ vars.foreachIndex }}"}
    - {id: last, uses: action:assign, needs: [each]}
"""
    )
    children = cast("list[str]", plan.tasks["each"].uses_name)
    assert [one[:11] for one in children] == ["each--0000-", "each--0001-"]
    assert all(len(one) == len("each--0000-") + 12 for one in children)
    assert plan.order == ("first", *children, "each", "last")
    child = plan.tasks[children[1]]
    assert child.expansion is not None
    assert child.expansion.binding == {"item": 2, "foreachIndex": 1}
    assert (child.expansion.parent, child.expansion.index) == ("each", 1)
    assert child.needs == ("first",)
    assert child.when == "${{ vars.item != 2 }}"
    aggregate = plan.tasks["each"]
    assert (aggregate.uses_kind, aggregate.when) == ("aggregate", None)
    assert aggregate.needs == ("first", *children)


def test_a_matrix_goes_through_axes_by_name_and_values_in_order() -> None:
    plan = plan_of(
        """\
  tasks:
    - id: m
      uses: action:assign
      matrix: {axes: {b: [1, 2], a: [x, y]}}
"""
    )
    cells = [one.expansion.binding["matrix"] for one in plan.tasks.values() if one.expansion]
    assert cells == [
        {"a": "x", "b": 1},
        {"a": "x", "b": 2},
        {"a": "y", "b": 1},
        {"a": "y", "b": 2},
    ]


def test_the_id_of_a_child_depends_on_its_binding_alone() -> None:
    body = "  tasks:\n    - {id: e, uses: action:assign, foreach: {items: [1, %s]}}\n"
    one, other = plan_of(body % "2").order, plan_of(body % "3").order
    assert one[0] == other[0]
    assert one[1] != other[1]


def test_loop_iterations_are_chained_and_their_guard_stands_in_the_aggregate() -> None:
    plan = plan_of(
        """\
  tasks:
    - id: l
      uses: action:assign
      loop: {maxIterations: 3, while: "${{ loop.output.n != 1 }}", initial: {n: 0}}
      with: {n: "${{ vars.loopPrevious }}"}
"""
    )
    name = cast("dict[str, object]", plan.tasks["l"].uses_name)
    children = cast("list[str]", name["children"])
    assert name["condition"] == "${{ loop.output.n != 1 }}"
    assert name["maxIterations"] == 3
    assert plan.order == (*children, "l")
    first, second, third = (plan.tasks[one] for one in children)
    assert (first.previous, second.previous, third.previous) == (None, children[0], children[1])
    assert third.needs == (children[1],)
    assert first.expansion is not None
    assert second.expansion is not None
    assert first.expansion.binding == {"loopIndex": 0, "loopPrevious": {"n": 0}}
    assert second.expansion.binding == {"loopIndex": 1}
    assert first.when is None


def test_a_router_guards_every_part_of_its_destinations() -> None:
    plan = plan_of(
        """\
  subworkflows:
    sub: {version: 1.0.0, tasks: [{id: x, uses: action:assign}]}
  tasks:
    - id: r
      uses: router
      route: {select: "${{ inputs.x }}", cases: [{equals: 1, tasks: [many, deep]}], default: [no]}
    - {id: many, uses: action:assign, needs: [r], foreach: {items: [1]}}
    - {id: deep, uses: workflow:sub, needs: [r]}
    - {id: no, uses: action:assign, needs: [r]}
"""
    )
    guarded = {name for name, task in plan.tasks.items() if task.route_guards == ("r",)}
    assert guarded == {name for name in plan.order if name not in ("r", "deep--x")}
    boundary = next(one for one in plan.tasks.values() if one.uses_kind == "subworkflow_input")
    assert boundary.expansion is not None
    assert boundary.expansion.parent == "deep"


def test_a_sub_workflow_has_a_boundary_its_own_names_and_an_aggregate() -> None:
    plan = plan_of(
        """\
  runtime: {maxConcurrency: 4}
  subworkflows:
    inner:
      version: 1.0.0
      inputs: {a: 1}
      outputs: {all: "${{ tasks.y.output }}"}
      tasks:
        - {id: x, uses: action:remember, with: {key: k, value: 1}}
        - id: y
          uses: action:assign
          needs: [x]
          with: {m: "${{ memory.k }}", x: "${{ tasks.x.output }}", a: "${{ inputs.a }}"}
    outer:
      version: 2.0.0
      tasks:
        - {id: in, uses: workflow:inner, with: {a: "${{ inputs.b }}"}}
  tasks:
    - {id: p, uses: workflow:outer, with: {b: 7}}
    - {id: q, uses: workflow:outer, with: {b: 7}}
"""
    )
    assert [one for one in plan.order if one.startswith("p")] == [
        next(one for one in plan.order if one.startswith("p--inputs-")),
        next(one for one in plan.order if one.startswith("p--in--inputs-")),
        "p--in--x",
        "p--in--y",
        "p--in",
        "p",
    ]
    x, y = plan.tasks["p--in--x"], plan.tasks["p--in--y"]
    assert x.namespace == y.namespace == "p--in--"
    assert x.inputs_from is not None
    assert x.inputs_from.startswith("p--in--inputs-")
    assert x.needs == (x.inputs_from,)
    assert y.needs == ("p--in--x",)
    assert x.memory_writes == ("p--in--k",)
    assert x.input == {"key": "k", "value": 1}
    entry = plan.tasks[x.inputs_from]
    assert entry.inputs_from is not None
    assert entry.inputs_from.startswith("p--inputs-")
    assert entry.namespace == "p--"
    assert entry.uses_name == {
        "name": "inner",
        "version": "1.0.0",
        "inputSchema": None,
        "defaults": {"a": 1},
    }
    leaving = cast("dict[str, object]", plan.tasks["p--in"].uses_name)
    assert leaving["namespace"] == "p--in--"
    assert leaving["children"] == [x.inputs_from, "p--in--x", "p--in--y"]
    outer = cast("dict[str, object]", plan.tasks["p"].uses_name)
    assert outer["version"] == "2.0.0"
    assert cast("list[str]", outer["children"])[-1] == "p--in"


def test_a_workflow_can_be_repeated_by_foreach() -> None:
    plan = plan_of(
        """\
  subworkflows:
    sub: {version: 1.0.0, tasks: [{id: x, uses: action:assign}]}
  tasks:
    - {id: e, uses: workflow:sub, foreach: {items: [1, 2]}, with: {v: "${{ vars.item }}"}}
"""
    )
    children = cast("list[str]", plan.tasks["e"].uses_name)
    assert [plan.tasks[one].uses_kind for one in children] == ["subworkflow_aggregate"] * 2
    assert f"{children[0]}--x" in plan.tasks
    assert plan.order[-1] == "e"


def test_long_term_memory_of_a_sub_workflow_has_its_own_namespace() -> None:
    plan = plan_of(
        """\
  memory: {longTerm: {provider: sqlite, namespace: shop}}
  subworkflows:
    sub:
      version: 1.0.0
      tasks: [{id: x, uses: action:promote, with: {key: k, value: 1}}]
  tasks:
    - {id: s, uses: workflow:sub}
    - {id: t, uses: action:promote, with: {key: k, value: 1}}
"""
    )
    assert plan.tasks["s--x"].input["namespace"] == "s--shop"
    assert "namespace" not in plan.tasks["t"].input
    assert plan.tasks["t"].memory_writes == ("k",)


def test_a_plan_survives_its_json() -> None:
    plan = plan_of(
        """\
  tasks:
    - {id: e, uses: action:assign, foreach: {items: [1, null]}}
    - {id: z, uses: action:assign, needs: [e], retry: {maxAttempts: 3, backoffMs: 10}}
"""
    )
    assert plan_from_json(plan.to_json()) == plan
    assert plan.to_json()["planDigest"] == plan.plan_digest


def test_an_id_that_an_expansion_also_has_is_refused() -> None:
    child = plan_of("  tasks:\n    - {id: e, uses: action:assign, foreach: {items: [1]}}\n").order[
        0
    ]
    body = f"""\
  tasks:
    - {{id: e, uses: action:assign, foreach: {{items: [1]}}}}
    - {{id: {child}, uses: action:assign}}
"""
    result = compile_text(HEAD + body)
    assert [one.code for one in problems(result)] == ["duplicate_task"]


def test_endless_nesting_is_bounded() -> None:
    subs = "".join(
        f"    w{n}: {{version: 1.0.0, tasks: [{{id: t, uses: workflow:w{n + 1}}}]}}\n"
        for n in range(20)
    )
    body = (
        "  subworkflows:\n"
        + subs
        + "    w20: {version: 1.0.0, tasks: [{id: t, uses: action:assign}]}\n"
        + "  tasks:\n    - {id: a, uses: workflow:w0}\n"
    )
    assert [one.code for one in problems(compile_text(HEAD + body))] == ["budget_exceeded"]


def test_a_plan_that_grows_without_measure_is_stopped() -> None:
    subs = "".join(
        f"    w{n}: {{version: 1.0.0, tasks: [{{id: a, uses: workflow:w{n + 1}}},"
        f" {{id: b, uses: workflow:w{n + 1}}}]}}\n"
        for n in range(15)
    )
    body = (
        "  subworkflows:\n"
        + subs
        + "    w15: {version: 1.0.0, tasks: [{id: t, uses: action:assign}]}\n"
        + "  tasks:\n    - {id: a, uses: workflow:w0}\n"
    )
    found = problems(compile_text(HEAD + body))
    assert [one.code for one in found] == ["budget_exceeded"]
    assert "20000" in found[0].message
