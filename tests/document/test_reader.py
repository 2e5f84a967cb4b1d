"""What the model accepts, and how it says what is wrong."""

from __future__ import annotations

import pytest

from agentctl.engine.document.model import Workflow
from agentctl.engine.document.reader import read_document
from tests.document.reading import (
    HEAD,
    TASKS,
    only_problem,
    problems_of,
    read_workflow,
    workflow_text,
)

AGENT = "  agents:\n    a: {provider: fake, model: m, instructions: x, %s}\n"
ACTION = "  actions:\n    a: {%s}\n"


def test_defaults_are_those_of_the_specification() -> None:
    workflow = read_workflow(workflow_text(AGENT % "tools: []"))
    agent, spec = workflow.spec.agents["a"], workflow.spec
    assert (agent.max_turns, agent.max_tool_calls, agent.max_output_tokens) == (8, 16, 2048)
    assert (agent.timeout_seconds, agent.stream) == (120, False)
    assert (spec.runtime.max_concurrency, spec.runtime.default_timeout_seconds) == (1, 120)
    assert (spec.policy.approval, spec.policy.non_interactive) == ("mutations", "pause")
    assert (spec.output.verbose, spec.output.show_diff) == (False, True)
    assert (spec.compensation.on_failure, spec.compensation.approval) == ("manual", "policy")
    assert spec.tasks[0].failure == "stop"


def test_text_is_kept_as_written() -> None:
    workflow = read_workflow(
        workflow_text(
            "  policy: {processAllowlist: [true, 1_000, 1.10, 2025-11-25, 0o17]}\n"
            "  mcpServers: {s: {url: u, protocolVersion: 2025-11-25}}\n"
        )
    )
    assert workflow.spec.policy.process_allowlist == [
        "true",
        "1_000",
        "1.10",
        "2025-11-25",
        "0o17",
    ]
    assert workflow.spec.mcp_servers["s"].protocol_version == "2025-11-25"


def test_a_field_left_blank_has_its_default() -> None:
    workflow = read_workflow(
        workflow_text("  policy:\n  vars: ~\n  runtime: {maxConcurrency: }\n")
    )
    assert workflow.spec.policy.workspace_root == "."
    assert workflow.spec.runtime.max_concurrency == 1


def test_the_older_version_has_the_same_model() -> None:
    document = read_document(workflow_text().replace("/v1", "/v1alpha1").encode(), "f").document
    assert isinstance(document, Workflow)
    assert document.spec == read_workflow(workflow_text()).spec


def test_all_problems_come_at_once() -> None:
    found = problems_of(
        HEAD
        + AGENT % "instructionsFile: y, maxTurns: 65, strem: true"
        + ACTION % "kind: builtin.assign, idempotency: pure"
        + "  tasks:\n"
        + "    - {id: a, uses: action:a, retry: {maxAttempts: 0, backoffMs: '5'}, failure: halt}\n"
        + "    - {id: b}\n"
        + "    - c\n"
        + "  polcy: {}\n"
    )
    assert [(one.path, one.line) for one in found] == [
        ("spec.agents.a.maxTurns", 6),
        ("spec.agents.a.strem", 6),
        ("spec.agents.a.instructionsFile", 6),
        ("spec.actions.a.idempotency", 8),
        ("spec.tasks[0].retry.maxAttempts", 10),
        ("spec.tasks[0].retry.backoffMs", 10),
        ("spec.tasks[0].failure", 10),
        ("spec.tasks[1].uses", 11),
        ("spec.tasks[2]", 12),
        ("spec.polcy", 13),
    ]
    helps = {one.path: one.help for one in found}
    assert helps["spec.agents.a.strem"] == "did you mean 'stream'?"
    assert helps["spec.tasks[0].retry.backoffMs"] == "write it without quotes"
    assert helps["spec.polcy"] == "did you mean 'policy'?"


def test_a_broken_rule_is_found_beside_other_problems() -> None:
    found = problems_of(workflow_text(AGENT % "instructionsFile: y" + "  nonsense: 1\n"))
    assert [one.path for one in found] == ["spec.agents.a.instructionsFile", "spec.nonsense"]


def test_a_broken_rule_is_found_where_a_field_is_missing() -> None:
    found = problems_of(
        workflow_text(
            "  agents: {a: {instructions: x, instructionsFile: y}}\n",
            "  tasks: [{id: [], foreach: {items: []}, loop: {maxIterations: 1, while: x}}]\n",
        )
    )
    assert [one.path for one in found] == [
        "spec.agents.a.provider",
        "spec.agents.a.instructionsFile",
        "spec.agents.a.model",
        "spec.tasks[0].id",
        "spec.tasks[0].uses",
        "spec.tasks[0].loop",
    ]


@pytest.mark.parametrize(
    ("spec", "path"),
    [
        ("agents: {a: {provider: f, model: m, instructions: []}}", "agents.a.instructions"),
        ("providers: {p: {kind: fake, credential: {env: a b}}}", "providers.p.credential.env"),
        ("actions: {a: {kind: nonsense, command: x}}", "actions.a.kind"),
        ("actions: {a: {kind: builtin.shell.exec, command: {}}}", "actions.a.command"),
        ("inputSchema: .inf", "inputSchema"),
        ("tools: []", "tools"),
    ],
)
def test_a_field_that_cannot_be_read_is_reported_once(spec: str, path: str) -> None:
    assert only_problem(workflow_text(f"  {spec}\n")).path == f"spec.{path}"


def test_a_json_schema_is_an_object_or_a_boolean() -> None:
    problem = only_problem(workflow_text("  inputSchema: string\n"))
    assert (problem.code, problem.path) == ("invalid_schema", "spec.inputSchema")
    assert problem.message == "inputSchema: a JSON Schema is an object, true or false"
    assert read_workflow(workflow_text("  inputSchema: false\n")).spec.input_schema is False
    assert read_workflow(workflow_text("  inputSchema:\n")).spec.input_schema is None


@pytest.mark.parametrize(
    "written",
    [
        "yes",
        "on",
        "No",
        "true",
        "12:30",
        "1_000",
        "1e3",
        "0o17",
        "0x1f",
        "2025-11-25",
        ".inf",
        ".nan",
        "1.10",
        "+1",
        "017",
        "<<",
    ],
)
def test_a_text_field_keeps_what_is_written(written: str) -> None:
    workflow = read_workflow(workflow_text(AGENT % f"description: {written}"))
    assert workflow.spec.agents["a"].description == written


@pytest.mark.parametrize("written", ["~", "null", "Null", "NULL", ""])
def test_nothing_is_no_text(written: str) -> None:
    text = workflow_text(AGENT.replace("provider: fake", f"provider: {written}") % "tools: []")
    problem = only_problem(text)
    assert problem.path == "spec.agents.a.provider"
    assert problem.help == "write '' for an empty text"


@pytest.mark.parametrize(
    ("field", "words"),
    [
        ("stream: yes", "YAML 1.2 reads yes as text; write true or false"),
        ("stream: On", "YAML 1.2 reads On as text; write true or false"),
        ("stream: n", "YAML 1.2 reads n as text; write true or false"),
        ("stream: 'true'", "write it without quotes"),
        ("maxTurns: 1_0", "YAML 1.2 reads 1_0 as text; write 10"),
        ("maxTurns: '10'", "write it without quotes"),
        ("timeoutSeconds: 12:30", "write the number of seconds"),
    ],
)
def test_a_surprise_of_yaml_is_named(field: str, words: str) -> None:
    assert words in str(only_problem(workflow_text(AGENT % field)).help)


@pytest.mark.parametrize("number", ["0o17", "0xF", "15", "1.5e1", "15.0"])
def test_whole_numbers_may_be_written_as_yaml_1_2_allows(number: str) -> None:
    workflow = read_workflow(workflow_text(AGENT % f"maxTurns: {number}"))
    assert workflow.spec.agents["a"].max_turns == 15


@pytest.mark.parametrize(
    ("field", "bad"),
    [
        ("maxTurns", "0"),
        ("maxTurns", "65"),
        ("maxToolCalls", "-1"),
        ("maxToolCalls", "257"),
        ("maxOutputTokens", "0"),
        ("maxOutputTokens", str(10**30)),
        ("timeoutSeconds", "0"),
        ("timeoutSeconds", "1.5"),
        ("timeoutSeconds", "true"),
        ("usageLimit", "{maxCostUsd: 0}"),
        ("usageLimit", "{maxCostUsd: 1e300}"),
        ("usageLimit", "{maxCostUsd: .inf}"),
        ("retry", "{maxAttempts: 21}"),
        ("retry", "{backoffMs: 60001}"),
        ("reasoning", "{effort: huge}"),
    ],
)
def test_a_value_out_of_bounds_is_refused_once(field: str, bad: str) -> None:
    problem = only_problem(workflow_text(AGENT % f"{field}: {bad}"))
    assert problem.code == "schema_violation"
    assert problem.path.startswith(f"spec.agents.a.{field}")


@pytest.mark.parametrize("name", ['"a\\n"', "a.b", '""', "-a", '"a b"'])
def test_a_task_id_that_is_no_name_is_refused(name: str) -> None:
    text = workflow_text(tasks=f"  tasks: [{{id: {name}, uses: 'action:a'}}]\n")
    assert only_problem(text).path == "spec.tasks[0].id"


@pytest.mark.parametrize("tasks", ["  tasks: []\n", "  tasks:\n", ""])
def test_a_workflow_needs_a_task(tasks: str) -> None:
    assert only_problem(HEAD + "  vars: {}\n" + tasks).path == "spec.tasks"


@pytest.mark.parametrize(
    ("action", "path"),
    [
        ("kind: builtin.assign, command: x", "command"),
        ("kind: builtin.assign, args: [x]", "args"),
        ("kind: builtin.assign, env: {A: {env: B}}", "env"),
        ("kind: builtin.assign, stdoutLimitBytes: 5", "stdoutLimitBytes"),
        ("kind: builtin.assign, isolation: container", "isolation"),
        ("kind: builtin.assign, capabilities: [x]", "capabilities"),
        ("kind: builtin.read, idempotency: pure", "idempotency"),
        ("kind: builtin.shell.exec", "command"),
        ("kind: builtin.shell.exec, command: x, protocolVersion: 1", "protocolVersion"),
        ("kind: builtin.shell.exec, command: x, isolation: container", "container"),
        ("kind: builtin.shell.exec, command: x, container: {image: i}", "isolation"),
    ],
)
def test_a_field_of_another_kind_of_action_is_refused(action: str, path: str) -> None:
    assert only_problem(workflow_text(ACTION % action)).path == f"spec.actions.a.{path}"


@pytest.mark.parametrize(
    "action",
    [
        "kind: mcp.call, idempotency: keyed",
        "kind: a2a.delegate, idempotency: keyed",
        "kind: extension.process, command: x, capabilities: [a], inputSchema: {}",
        "kind: builtin.shell.exec, command: x, args: [], timeoutSeconds: 86400",
        "kind: builtin.assign, isolation: process, args: []",
    ],
)
def test_a_field_of_its_own_kind_of_action_is_accepted(action: str) -> None:
    read_workflow(workflow_text(ACTION % action))


@pytest.mark.parametrize("secret", ["{}", "{env: A, file: b}", "{env: , file: }"])
def test_a_secret_has_exactly_one_form(secret: str) -> None:
    problem = only_problem(
        workflow_text(f"  providers: {{p: {{kind: fake, credential: {secret}}}}}\n")
    )
    assert problem.code == "invalid_secret_reference"
    assert problem.path == "spec.providers.p.credential"


def test_an_argument_of_a_secret_program_is_bounded() -> None:
    secret = f"{{process: {{command: c, args: [a, {'x' * 4097}]}}}}"
    problem = only_problem(
        workflow_text(f"  providers: {{p: {{kind: fake, credential: {secret}}}}}\n")
    )
    assert problem.path == "spec.providers.p.credential.process.args[1]"


@pytest.mark.parametrize(
    ("first", "help"),
    [
        ("apiVersion: agentctl.dev/v2", "did you mean 'agentctl.dev/v1'?"),
        ("apiversion: agentctl.dev/v1", "'apiversion' is written apiVersion"),
        ("labels: {}", "start with apiVersion: agentctl.dev/v1"),
        ("apiVersion: [x]", "known: agentctl.dev/pack/v1"),
    ],
)
def test_another_version_is_refused_with_the_nearest_right_one(first: str, help: str) -> None:
    text = workflow_text().replace("apiVersion: agentctl.dev/v1", first)
    problem = only_problem(text)
    assert problem.code == "unsupported_version"
    assert str(problem.help).startswith(help)


def test_places_are_found_for_any_path() -> None:
    text = HEAD + '  vars:\n    a.b[0]: {c: [1, {d: 2}]}\n    a: {"": 3}\n' + TASKS
    places = read_document(text.encode(), "f").places
    assert places.locate("spec.vars.a.b[0].c[1].d") == (6, 25)
    assert places.locate("spec.vars.a.") == (7, 5)
    assert places.locate("spec.vars.a.b[0].c[7].d") == (6, 14)
    assert places.locate("spec.tasks[0].retry.maxAttempts") == (9, 7)
    assert places.locate("nowhere") == (1, 1)
    assert places.locate("") == (1, 1)


def test_parts_are_equal_by_what_they_say() -> None:
    first, second = read_workflow(workflow_text()), read_workflow(workflow_text())
    assert first == second
    assert first != read_workflow(workflow_text("  output: {verbose: true}\n"))
    assert first.spec.output != first.spec.runtime
    assert repr(first.spec.output) == "Output(verbose=False, show_diff=True)"
