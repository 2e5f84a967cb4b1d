"""What else a plan holds: values, times, definitions, requirements, digests."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from agentctl.engine.compiler.source import KnownAction
from tests.compiler.compiling import compile_text, problems

if TYPE_CHECKING:
    from agentctl.engine.plan import Plan
    from agentctl.jsonvalue import JsonObject

HEAD = """\
apiVersion: agentctl.dev/v1
kind: Workflow
metadata: {name: test}
spec:
"""


def plan_of(
    body: str, files: dict[str, str] | None = None, known: dict[str, KnownAction] | None = None
) -> Plan:
    result = compile_text(HEAD + body, files=files, known=known)
    assert result.plan is not None, problems(result)
    return result.plan


def test_variables_are_merged_from_low_to_high_by_whole_names() -> None:
    body = """\
  varsFiles: [defaults.yaml, later.json]
  vars: {winner: workflow, object: {inline: true}}
  providers: {fake: {kind: fake}}
  agents:
    helper: {provider: fake, model: m, instructions: hi, vars: {agent: 1, winner: agent}}
  actions: {assign: {kind: builtin.assign}}
  tasks:
    - {id: plain, uses: action:assign}
    - {id: full, uses: agent:helper, varsFiles: [task.yaml], vars: {winner: task}}
"""
    files = {
        "defaults.yaml": "winner: file\nobject: {old: true}\nnullable: old\n",
        "later.json": '{"winner": "later", "nullable": null}',
        "task.yaml": "winner: task-file\nonly: 1\n",
    }
    plan = plan_of(body, files)
    assert plan.tasks["plain"].vars == {
        "winner": "workflow",
        "object": {"inline": True},
        "nullable": None,
    }
    assert plan.tasks["full"].vars == {
        "winner": "task",
        "object": {"inline": True},
        "nullable": None,
        "agent": 1,
        "only": 1,
    }
    sources = cast("list[JsonObject]", plan.requirements["sources"])
    assert [one["path"] for one in sources] == ["defaults.yaml", "later.json", "task.yaml"]


def test_layers_say_where_every_variable_comes_from() -> None:
    body = """\
  vars: {a: 1}
  actions: {assign: {kind: builtin.assign}}
  tasks:
    - {id: t, uses: action:assign, vars: {b: 2}}
"""
    layers = compile_text(HEAD + body).layers
    assert [one.origin for one in layers["spec.tasks.t"]] == ["spec.vars", "spec.tasks.t.vars"]


def test_the_input_of_a_task_lies_over_the_defaults_of_its_action() -> None:
    plan = plan_of(
        """\
  actions: {assign: {kind: builtin.assign, with: {a: 1, b: {c: 2}}}}
  tasks:
    - {id: t, uses: action:assign, with: {b: {d: 3}}}
"""
    )
    assert plan.tasks["t"].input == {"a": 1, "b": {"d": 3}}


def test_the_nearest_timeout_wins() -> None:
    plan = plan_of(
        """\
  runtime: {defaultTimeoutSeconds: 7}
  providers: {fake: {kind: fake}}
  agents: {helper: {provider: fake, model: m, instructions: hi, timeoutSeconds: 9}}
  actions:
    plain: {kind: builtin.assign}
    slow: {kind: builtin.write, timeoutSeconds: 8}
  tasks:
    - {id: a, uses: action:plain}
    - {id: b, uses: action:slow, with: {path: p, content: c}}
    - {id: c, uses: agent:helper}
    - {id: d, uses: agent:helper, timeoutSeconds: 10}
"""
    )
    assert [plan.tasks[one].timeout_seconds for one in "abcd"] == [7, 8, 9, 10]


def test_a_plan_is_as_predictable_as_its_least_predictable_task() -> None:
    body = """\
  actions: {assign: {kind: builtin.assign}, read: {kind: builtin.read}}
  tasks:
    - {id: a, uses: action:assign}
"""
    assert plan_of(body).predictability == "fully_predictable"
    body += "    - {id: b, uses: action:read, with: {path: p}}\n"
    assert plan_of(body).predictability == "partially_predictable"


def test_instructions_from_a_file_stand_in_the_plan_with_their_digest() -> None:
    plan = plan_of(
        """\
  providers: {fake: {kind: fake}}
  agents: {helper: {provider: fake, model: m, instructionsFile: text.md}}
  tasks:
    - {id: t, uses: agent:helper}
""",
        {"text.md": "Do it well.\n"},
    )
    agent = cast("dict[str, JsonObject]", plan.definitions["agents"])["helper"]
    assert agent["instructions"] == "Do it well.\n"
    assert len(cast("str", agent["instructionsDigest"])) == 64


def test_the_definitions_have_what_executors_read() -> None:
    plan = plan_of(
        "  actions: {assign: {kind: builtin.assign}}\n  tasks: [{id: t, uses: action:assign}]\n"
    )
    policy = cast("JsonObject", plan.definitions["policy"])
    assert policy["workspaceRoot"] == "."
    assert policy["writableRoots"] == []
    assert policy["approval"] == "mutations"
    assert policy["nonInteractive"] == "pause"
    assert cast("JsonObject", plan.definitions["memory"])["working"] == {}
    for name in ("outputs", "providers", "tools", "agents", "budgets", "pricing", "inputs"):
        assert plan.definitions[name] == {}, name
    assert {"compensation", "mcpServers", "a2aPeers", "output", "inputSchema"} <= set(
        plan.definitions
    )


def test_a_registered_function_is_an_action() -> None:
    plan = plan_of(
        "  tasks: [{id: t, uses: action:charge, with: {amount: 1}}]\n",
        known={"charge": KnownAction(name="charge", idempotency="keyed")},
    )
    action = cast("dict[str, JsonObject]", plan.definitions["actions"])["charge"]
    assert (action["kind"], action["idempotency"]) == ("python.function", "keyed")
    effects = cast("list[JsonObject]", plan.requirements["effects"])
    assert [(one["operation"], one["idempotency"]) for one in effects] == [
        ("python.function", "keyed")
    ]


def test_a_compensation_is_planned_with_its_action_and_retry() -> None:
    plan = plan_of(
        """\
  actions: {write: {kind: builtin.write, timeoutSeconds: 4}}
  tasks:
    - id: t
      uses: action:write
      with: {path: p, content: c}
      compensate:
        uses: action:write
        with: {path: p, content: "${{ tasks.t.output.before }}"}
        retry: {maxAttempts: 2, backoffMs: 50}
"""
    )
    inverse = plan.tasks["t"].compensate
    assert inverse is not None
    assert (inverse.uses, inverse.timeout_seconds) == ("write", 4)
    assert (inverse.retry.max_attempts, inverse.retry.backoff_ms) == (2, 50)


def test_comments_and_spelling_do_not_reach_the_digests_but_meaning_does() -> None:
    one = plan_of(
        "  actions: {assign: {kind: builtin.assign}}\n  tasks: [{id: t, uses: action:assign}]\n"
    )
    same = plan_of(
        "  # a comment\n  tasks:\n    - uses: 'action:assign'\n      id: t\n"
        "  actions:\n    assign:\n      kind: builtin.assign\n"
    )
    other = plan_of(
        "  actions: {assign: {kind: builtin.assign}}\n  tasks: [{id: u, uses: action:assign}]\n"
    )
    assert one.workflow_digest == same.workflow_digest
    assert one.plan_digest == same.plan_digest
    assert one.workflow_digest != other.workflow_digest
    assert one.plan_digest != other.plan_digest


def test_the_bytes_of_a_file_reach_the_workflow_digest() -> None:
    body = (
        "  varsFiles: [v.yaml]\n  actions: {assign: {kind: builtin.assign}}\n"
        "  tasks: [{id: t, uses: action:assign}]\n"
    )
    one, other = plan_of(body, {"v.yaml": "a: 1\n"}), plan_of(body, {"v.yaml": "a: 2\n"})
    assert one.workflow_digest != other.workflow_digest
