"""The public example files compile, or fail, as the acceptance matrix says."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING, cast

import pytest
import yaml

from tests.compiler.compiling import EXAMPLES, ROOT, SHARED, compile_file, problems

if TYPE_CHECKING:
    from agentctl.engine.plan import Plan

MATRIX = cast(
    "dict[str, dict[str, list[dict[str, object]]]]",
    yaml.safe_load((SHARED / "spec/acceptance.yaml").read_text(encoding="utf-8")),
)["example_matrix"]["rows"]
ROWS = {
    cast("str", row["file"]): row["check_exit"]
    for row in MATRIX
    if not cast("str", row["file"]).startswith("other")
}

FILES = sorted(
    str(path.relative_to(SHARED))
    for path in EXAMPLES.rglob("*.yaml")
    if path.name not in ("example.pack.yaml", "assign.playbook.yaml")
)


def plan_of(name: str) -> Plan:
    result = compile_file(SHARED / name)
    assert result.plan is not None, problems(result)
    return result.plan


@pytest.mark.parametrize("name", FILES)
def test_an_example_compiles_as_the_matrix_says(name: str) -> None:
    result = compile_file(SHARED / name)
    if ROWS.get(name, 0) == 0:
        assert problems(result) == []
        assert result.plan is not None
    else:
        assert [one.code for one in problems(result)] == ["unsupported_capability"]


def test_the_legacy_playbook_compiles_to_what_was_recorded() -> None:
    result = compile_file(EXAMPLES / "fixtures/compat/v0/assign.playbook.yaml")
    assert result.plan is not None
    assert result.plan.workflow_name == "compatibility-assign"
    assert result.plan.order == ("copy",)
    task = result.plan.tasks["copy"]
    assert (task.uses_kind, task.uses_name, task.needs) == ("action", "copy", ())


def test_the_parallel_example_infers_its_memory_keys() -> None:
    plan = plan_of("examples/v1/parallel.yaml")
    assert plan.max_concurrency == 2
    assert plan.tasks["write-left"].memory_writes == ("left",)
    assert plan.tasks["write-right"].memory_writes == ("right",)


def test_the_matrix_example_has_four_children() -> None:
    plan = plan_of("examples/v1/matrix.yaml")
    children = cast("list[str]", plan.tasks["verify"].uses_name)
    assert len(children) == 4
    assert children[0].startswith("verify--0000-")
    first = plan.tasks[children[0]].expansion
    assert first is not None
    assert first.parent == "verify"


def test_the_router_example_guards_its_destinations() -> None:
    plan = plan_of("examples/v1/router.yaml")
    assert plan.tasks["route"].uses_kind == "router"
    assert plan.tasks["ship"].route_guards == ("route",)
    assert plan.order == ("decide", "route", "ship", "hold")


def test_the_pack_example_uses_qualified_names() -> None:
    plan = plan_of("examples/v1/reusable-pack.yaml")
    assert plan.tasks["packed"].uses_name == "example.utility.assign"
    assert plan.tasks["packed-workflow--assign"].uses_name == "example.utility.assign"
    sources = cast("list[dict[str, str]]", plan.requirements["sources"])
    assert [one["path"] for one in sources] == ["dependency.pack", "example.pack.yaml"]
    # The lock file beside the workflow says the same digests.
    assert sources[1]["digest"].startswith("65daf10190d2")


def test_the_durable_pipeline_has_the_order_that_its_journey_counts_on() -> None:
    plan = plan_of("examples/framework-completeness/durable-pipeline.yaml")
    assert len(plan.order) == 10
    assert plan.order[7:] == ("analyze", "publish", "validate")


def test_the_digests_are_the_same_on_every_hash_seed() -> None:
    script = (
        "from tests.compiler.test_examples import FILES, SHARED, compile_file\n"
        "for name in FILES:\n"
        "    plan = compile_file(SHARED / name).plan\n"
        "    print(name, plan and plan.plan_digest, plan and plan.workflow_digest)\n"
    )
    outputs = set()
    for seed in ("0", "1", "random"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        outputs.add(
            subprocess.run(
                [sys.executable, "-c", script],
                env=environment,
                check=True,
                capture_output=True,
                text=True,
                cwd=ROOT,
            ).stdout
        )
    assert len(outputs) == 1


def test_a_document_without_schemas_imports_no_schema_library() -> None:
    script = (
        "import sys\n"
        "from tests.compiler.compiling import EXAMPLES, compile_file\n"
        "assert compile_file(EXAMPLES / 'v1/hello.yaml').plan is not None\n"
        "print(sorted({'jsonschema', 'httpx', 'cryptography', 'statemachine'} & set(sys.modules)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], check=True, capture_output=True, text=True, cwd=ROOT
    )
    assert done.stdout == "[]\n"
