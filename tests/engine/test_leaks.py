"""A secret that an executor lets out in every way it has is on no disk and in no answer."""

from __future__ import annotations

import asyncio
import base64
import json
import re
import urllib.parse
from typing import TYPE_CHECKING, Any, cast

import pytest

from agentctl import Engine
from agentctl.errors import EffectError
from agentctl.testing import CrashPoint, SimulatedCrash
from tests.cli.harness import run_cli
from tests.engine.harness import Bench, task, workflow

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from pathlib import Path

    from agentctl.engine.ports import EffectContext, Executor
    from agentctl.engine.records import EffectRecord
    from agentctl.jsonvalue import JsonObject, JsonValue

SECRET = 'Tr0ub4dor & "3"/\N{LATIN SMALL LETTER E WITH ACUTE}+'
RAW = SECRET.encode()
REFERENCE: JsonObject = {"env": "LEAKED_TOKEN"}


class Leaking:
    """Resolves a secret, and tells it in the way that its input names."""

    async def execute(self, effect: EffectRecord, context: EffectContext) -> JsonValue:
        """Leak."""
        await context.secrets.resolve(REFERENCE)
        way = cast("dict[str, str]", effect.input)["path"]
        if way == "error":
            raise EffectError(f"login with {SECRET} failed", code="refused")
        if way == "exception":
            raise ValueError({"password": SECRET})
        if way == "stream":
            return await self._stream(context)
        if way == "artifact":
            digest = context.artifacts.keep(b"head\xff" + RAW + b"\x00tail", f"out/{SECRET}.bin")
            return {"digest": digest}
        return {"stdout": f"<{LEAKS[way]}>", LEAKS[way]: [LEAKS[way]]}

    async def _stream(self, context: EffectContext) -> JsonValue:
        await context.emit("said", {"whole": SECRET, "list": [f"-{SECRET}-"]})
        for piece in ["it is ", *SECRET, SECRET[:3], "nothing", SECRET[:5]]:
            await context.emit("text.delta", {"text": piece, "index": 0})
        await context.emit("done", {})
        return {"streamed": True}


LEAKS = {
    "stdout": SECRET,
    "base64": base64.b64encode(b"user:" + RAW).decode(),
    "url": "https://host/?q=" + urllib.parse.quote_plus(SECRET),
    "json": json.dumps({"inner": json.dumps([SECRET])}),
    "hex": RAW.hex(),
}
WAYS = [*LEAKS, "error", "exception", "stream", "artifact"]


class LeakingEngine(Engine):
    """An engine whose reads leak."""

    def _executors(self, wanted: Collection[str]) -> dict[str, Executor]:
        return {**super()._executors(wanted), "builtin.read": Leaking()}


def leaks_in(data: bytes) -> Iterator[str]:
    """Yield every form of the secret that stands in some bytes."""
    written = json.dumps(SECRET)[1:-1]
    needles = {
        "plain": RAW,
        "JSON": written.encode(),
        "JSON as UTF-8": json.dumps(SECRET, ensure_ascii=False)[1:-1].encode(),
        "JSON in JSON": json.dumps(written)[1:-1].encode(),
        "URL": urllib.parse.quote(SECRET).encode(),
        "form": urllib.parse.quote_plus(SECRET).encode(),
        "Python": repr(SECRET)[1:-1].encode(),
        "a good part of it": RAW[:8],
    }
    yield from (name for name, needle in needles.items() if needle in data)
    if RAW.hex().encode() in data.lower():
        yield "hex"
    for run in re.findall(rb"[A-Za-z0-9+/]{8,}", data.replace(b"-", b"+").replace(b"_", b"/")):
        for start in range(4):
            whole = run[start:] + b"A" * (-len(run[start:]) % 4)
            if RAW[:8] in base64.b64decode(whole):
                yield "base64"


def test_the_search_itself_finds_every_way(tmp_path: Path) -> None:
    del tmp_path
    for way, leak in LEAKS.items():
        assert list(leaks_in(leak.encode())), way
        assert list(leaks_in(json.dumps([leak]).encode())), way


def test_a_run_that_leaks_in_every_way_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LEAKED_TOKEN", SECRET)
    db = tmp_path / "state" / "runtime.db"
    tasks = [task(way, "action:read", with_={"path": way}, failure="continue") for way in WAYS]
    events: list[str] = []
    with LeakingEngine(db, workspace=tmp_path) as engine:
        engine.subscribe(lambda event: events.append(json.dumps(event.payload)))
        outputs = {way: f"${{{{ tasks.{way}.output }}}}" for way in LEAKS}
        document = workflow(*tasks, runtime={"maxConcurrency": 3}, outputs=outputs)
        outcome = engine.start_sync(engine.load(document))
        # The write-ahead log is looked at before it is folded into the database.
        kept = {path.name for path in db.parent.rglob("*") if path.is_file()}
        assert {"runtime.db", "runtime.db-wal"} <= kept
        seen = {str(path): path.read_bytes() for path in db.parent.rglob("*") if path.is_file()}
        seen["inspect"] = json.dumps(engine.inspect(outcome.run_id)).encode()
        seen["outcome"] = json.dumps([outcome.output, outcome.error]).encode()
        seen["events"] = "\n".join(events).encode()
    seen |= _told(outcome.run_id, db, tmp_path)
    found = {place: list(leaks_in(data)) for place, data in seen.items()}
    assert {place: leaks for place, leaks in found.items() if leaks} == {}
    assert sum(b"[REDACTED]" in data for data in seen.values()) >= len(WAYS)


def _told(run_id: str, db: Path, folder: Path) -> dict[str, bytes]:
    """Return what the program tells of a run afterwards, in every form that it has."""
    told: dict[str, bytes] = {}
    for command in (["inspect", run_id], ["effects", "list", run_id], ["artifacts", "list"]):
        for form in ("json", "human"):
            shown = run_cli(*command, "--db", str(db), "--output", form).expect(0)
            told[f"{' '.join(command)} as {form}"] = (shown.stdout + shown.stderr).encode()
    listed = run_cli("artifacts", "list", "--db", str(db), "--output", "json").document
    digest = cast("Any", listed)["data"]["references"][0]["digest"]
    target = folder / "exported"
    run_cli("artifacts", "export", digest, str(target), "--db", str(db)).expect(0)
    told["export"] = target.read_bytes()
    assert told["export"] == b"head\xff[REDACTED]\x00tail"
    return told


def test_a_value_split_over_progress_records_is_in_none_and_not_in_their_sum(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LEAKED_TOKEN", SECRET)
    with LeakingEngine(tmp_path / "state.db", workspace=tmp_path) as engine:
        document = workflow(task("one", "action:read", with_={"path": "stream"}))
        run_id = engine.start_sync(engine.load(document)).run_id
        told = engine.store.stream_events(run_id)
    pieces = [cast("Any", one.payload) for one in told if one.event_type == "text.delta"]
    said = "".join(piece["text"] for piece in pieces)
    assert said == f"it is [REDACTED]{SECRET[:3]}nothing{SECRET[:5]}"
    assert told[0].payload == {"whole": "[REDACTED]", "list": ["-[REDACTED]-"]}
    assert told[-1].event_type == "done"


def test_a_function_is_given_its_secret_and_the_records_are_not(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LEAKED_TOKEN", SECRET)
    got = []

    @bench.engine.action("login", secrets={"password": REFERENCE})
    def login(user: str, password: str) -> dict[str, Any]:
        got.append(password)
        return {"said": f"{user} uses {password}"}

    outcome = bench.run(workflow(task("in", "action:login", with_={"user": "ann"})))
    assert got == [SECRET]
    assert bench.outputs(outcome.run_id)["in"] == {"said": "ann uses [REDACTED]"}
    (effect,) = bench.engine.history(outcome.run_id).effects
    assert effect.input == {"user": "ann"}


def test_a_missing_secret_fails_the_task_before_the_function_is_called(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("LEAKED_TOKEN", raising=False)
    called = []

    @bench.engine.action("login", secrets={"password": REFERENCE})
    def login(password: str) -> None:
        called.append(password)

    outcome = bench.run(workflow(task("in", "action:login")))
    assert outcome.state == "failed"
    assert called == []
    (only,) = bench.engine.history(outcome.run_id).tasks
    assert only.error == {
        "code": "missing_credential",
        "message": "the environment variable LEAKED_TOKEN is not set",
    }


def test_a_resumed_run_still_knows_what_its_first_process_had_resolved(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LEAKED_TOKEN", SECRET)
    spec = {
        "providers": {"fake": {"kind": "fake", "headers": {"x-key": REFERENCE}}},
        "agents": {"writer": {"provider": "fake", "model": "m", "instructions": "answer"}},
    }
    document = workflow(
        task("ask", "agent:writer", with_={"prompt": "go"}),
        task("tell", "action:tell", "ask"),
        **spec,
    )

    def with_tell(engine: Engine) -> Engine:
        engine.action("tell", idempotency="pure")(lambda: {"said": SECRET})
        return engine

    engine = with_tell(bench.reopened(CrashPoint(at=3)))
    with pytest.raises(SimulatedCrash):
        asyncio.run(engine.start(engine.load(document)))
    assert bench.told("effect.start")[0].startswith("effect.start ask/")
    outcome = with_tell(bench.reopened()).resume_sync(bench.events[0].run_id)
    assert bench.outputs(outcome.run_id)["tell"] == {"said": "[REDACTED]"}
