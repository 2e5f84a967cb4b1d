"""`effects reconcile` and its relatives, as a script and a person see them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.cli.doubt import ANSWER, Case, document, helper, with_probe
from tests.cli.harness import run_json

if TYPE_CHECKING:
    from pathlib import Path

TOLD = {"status": "applied", "result": {"said": "${{ effect.input.said }}"}, "evidence": "a log"}


@pytest.fixture
def case(tmp_path: Path) -> Case:
    """A run with one effect in doubt."""
    return Case(tmp_path, document("ask"))


def test_an_applied_effect_gives_its_result_to_the_resumed_run(case: Case) -> None:
    effect = case.effect()
    result = case.write("result.json", ANSWER)
    schema = case.write("schema.json", {"required": ["text"]})
    (case.folder / "log.txt").write_text("delivered\n", encoding="utf-8")
    done = case.json(
        *("effects", "reconcile", effect[:12], "--status", "applied", "--actor", "ada"),
        *("--reason", "the provider's log", "--evidence-file", "log.txt"),
        *("--result-file", result, "--result-schema-file", schema),
    ).expect(0)
    assert done.at("/kind") == "Reconciliation"
    assert done.at("/data/status") == "applied"
    assert done.at("/data/actor") == "ada"
    assert done.at("/data/evidence/text") == "delivered\n"
    assert done.at("/data/evidence/sizeBytes") == 10
    assert done.at("/data/evidence/mediaHint") == "text/plain"
    assert len(done.text("/data/evidence/digest")) == 64
    case.json("resume", case.run_id).expect(0)
    assert (case.folder / "out" / "said.txt").read_text(encoding="utf-8") == "said before"
    shown = case.json("effects", "inspect", effect[:12]).expect(0)
    assert shown.at("/data/status") == "uncertain"
    assert shown.at("/data/reconciliation/status") == "applied"
    case.cli("verify", case.run_id).expect(0)


def test_an_effect_that_did_not_happen_is_asked_for_afresh(case: Case) -> None:
    named = ("effects", "reconcile", case.run_id, "ask/1.0")
    told = case.cli(*named, "--status", "not-applied", "--reason", "no trace").expect(0)
    assert "effect ask/1.0 not_applied" in told.stdout
    assert f"agentctl resume {case.run_id}" in told.stdout
    case.json("resume", case.run_id).expect(0)
    assert (case.folder / "out" / "said.txt").read_text(encoding="utf-8") == "said now"
    listed = case.cli("effects", "list", case.effect()[:10]).expect(0)
    assert "uncertain, found not_applied" in listed.stdout


def refusal(case: Case, *args: str) -> tuple[int, str]:
    """Return exit code and code of what refuses a finding; nothing may have been stored."""
    given = ("--reason", "x") if "--reason" not in args else ()
    found = case.json("effects", "reconcile", *args, *given)
    assert case.states() == []
    return found.exit_code, found.text("/error/code")


def test_a_finding_that_does_not_fit_is_refused_and_nothing_is_stored(case: Case) -> None:
    effect = case.effect()
    applied = (effect, "--status", "applied")
    absent = (effect, "--status", "not-applied")
    good, bad = case.write("good.json", ANSWER), case.write("bad.json", {"text": 5})
    (case.folder / "torn.json").write_text('{"text":', encoding="utf-8")
    (case.folder / "large.bin").write_bytes(bytes((1 << 20) + 1))
    no_schema = case.write("no-schema.json", {"type": "nothing"})
    strict = case.write("strict.json", {"required": ["receipt"]})
    schema = "--result-schema-file"
    cases: list[tuple[tuple[str, ...], tuple[int, str]]] = [
        (("f" * 12, "--status", "not-applied"), (2, "unknown_effect")),
        ((case.run_id, "ask/9.0", "--status", "not-applied"), (2, "unknown_effect")),
        (applied, (2, "result_missing")),
        ((*applied, "--result-file", bad), (2, "invalid_result")),
        ((*applied, "--result-file", good, schema, strict), (2, "invalid_result")),
        ((*applied, "--result-file", good, schema, no_schema), (2, "invalid_evidence")),
        ((*applied, "--result-file", "torn.json"), (2, "invalid_evidence")),
        ((*applied, "--result-file", "absent.json"), (2, "invalid_evidence")),
        ((*applied, schema, strict), (2, "usage")),
        ((*absent, "--result-file", good), (2, "invalid_result")),
        ((*absent, "--evidence-file", "large.bin"), (2, "invalid_evidence")),
        ((*absent, "--evidence-file", "."), (2, "invalid_evidence")),
        ((*absent, "--compensation-effect", effect), (2, "invalid_compensation")),
        ((effect, "--status", "compensated"), (2, "invalid_compensation")),
        ((*absent, "--reason", " "), (2, "usage")),
        ((effect, "--status", "maybe"), (2, "usage")),
    ]
    for args, expected in cases:
        assert refusal(case, *args) == expected, args


def test_a_finding_against_an_earlier_one_is_refused_with_who_found_it(case: Case) -> None:
    named = ("effects", "reconcile", case.effect(), "--reason", "x", "--actor", "ada")
    case.cli(*named, "--status", "not-applied").expect(0)
    refused = case.cli(*named, "--status", "applied", "--result-file", case.write("r", ANSWER))
    assert refused.expect(3).stderr.startswith("error[illegal_transition]")
    assert "ada found it not_applied before" in refused.stderr


def test_a_confirmation_is_required_where_the_policy_asks_a_person(tmp_path: Path) -> None:
    source = with_probe(TOLD)
    source["spec"]["policy"]["approval"] = "mutations"
    case = Case(tmp_path, source, approved=True)
    args = (case.run_id, "ask/1.1", "--status", "not-applied")
    assert refusal(case, *args) == (3, "confirmation_required")
    told = case.cli("effects", "reconcile", *args, "--reason", "x")
    assert "--approved" in told.stderr
    case.json("effects", "reconcile", *args, "--reason", "x", "--approved").expect(0)
    assert case.states() == ["ask/1.1 not_applied"]


def test_an_effect_that_timed_out_is_inspected_and_found_not_applied(tmp_path: Path) -> None:
    source = document("ask", agents={"helper": helper("late", options={"delayMs": 60_000})})
    source["spec"]["tasks"][0]["timeoutSeconds"] = 1
    (tmp_path / "slow.yaml").write_text(json.dumps(source), encoding="utf-8")
    run = run_json("run", "slow.yaml", "--db", "state.db", cwd=tmp_path).expect(4)
    assert run.at("/error/code") == "timeout"
    run_id = run.text("/data/runId")
    shown = run_json(
        "effects", "inspect", run_id, "ask/1.0", "--db", "state.db", cwd=tmp_path
    ).expect(0)
    assert shown.at("/data/status") == "uncertain"
    effect = shown.text("/data/request/id")
    found = run_json(
        *("effects", "reconcile", effect, "--status", "not-applied", "--actor", "ada"),
        *("--reason", "the provider has no record of it", "--db", "state.db"),
        cwd=tmp_path,
    ).expect(0)
    assert found.at("/data/status") == "not_applied"
    refused = run_json("resume", run_id, "--db", "state.db", cwd=tmp_path).expect(3)
    assert refused.at("/error/code") == "not_now"


def test_a_probe_settles_an_effect_and_says_so(tmp_path: Path) -> None:
    case = Case(tmp_path, with_probe(TOLD), at=3)
    done = case.json("effects", "probe", case.run_id, "ask/1.1").expect(0)
    assert done.at("/data/probes/0/status") == "applied"
    assert case.states() == ["ask/1.1 applied"]
    evidence: Any = case.json("effects", "inspect", case.run_id, "ask/1.1").at(
        "/data/reconciliation/evidence"
    )
    assert evidence["answer"] == {**TOLD, "result": {"said": "x"}}
    case.json("resume", case.run_id).expect(0)
    again = case.json("effects", "probe", case.run_id, "ask/1.1").expect(3)
    assert again.at("/error/code") == "effect_certain"


def test_a_probe_that_does_not_know_leaves_the_doubt(tmp_path: Path) -> None:
    case = Case(tmp_path, with_probe({"status": "unknown"}), at=3)
    told = case.cli("reconcile", case.run_id, "--probe").expect(3)
    assert "still uncertain" in told.stdout
    assert case.states() == ["ask/1.1 open"]
    missing = case.json("effects", "probe", case.run_id, "ask/1.0").expect(3)
    assert missing.at("/error/code") == "effect_certain"


def test_an_automatic_probe_is_asked_by_resume(tmp_path: Path) -> None:
    case = Case(tmp_path, with_probe(TOLD, mode="automatic"), at=3)
    case.json("resume", case.run_id).expect(0)
    assert case.states() == ["ask/1.1 applied"]


def test_an_effect_without_a_probe_has_none(case: Case) -> None:
    refused = case.json("effects", "probe", case.effect()).expect(3)
    assert refused.at("/error/code") == "no_probe"
