"""An effect in doubt as a person reads it: what was asked, what is known, what may be said.

Above: `agentctl reconcile`. Below: the engine's dossier, and the file that a write was about.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, cast

from agentctl.cli.paint import counted, facts, visible
from agentctl.limits import FILE_BYTES_MAX

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentctl.door import Engine
    from agentctl.engine.doubt import Doubt
    from agentctl.engine.records import EffectRecord
    from agentctl.jsonvalue import JsonObject, JsonValue

_PROGRESS_SHOWN = 5
_INDENT = "    "


def gather(engine: Engine, doubt: Doubt, effect: EffectRecord) -> JsonObject:
    """Return all that is known of an effect, also what its file holds now."""
    from agentctl.engine.doubt import dossier

    run = doubt.state.run
    journal = engine.store.transitions(run.id)
    found = dossier(doubt, effect, journal, engine.store.stream_events(run.id))
    about = found["file"]
    if isinstance(about, dict):
        now = _look(run.workspace, str(about["path"]))
        wanted = cast("JsonObject", about["wanted"])["sha256"]
        found["file"] = {**about, "now": now, "isAsWanted": now["sha256"] == wanted}
    return found


def human(found: JsonObject) -> str:
    """Return a dossier as text."""
    pairs = [
        ("effect", f"{found['effectName']}  {found['effectId']}"),
        ("operation", f"{found['operation']} ({found['effectClass']}, risk {found['risk']})"),
        ("idempotency", str(found["idempotency"])),
        ("key", str(found["idempotencyKey"])),
        ("dispatched", _dispatched(found)),
        *_known(found),
    ]
    parts = [facts(pairs), "asked for\n" + _pretty(found["input"])]
    if found["error"] is not None:
        parts.append("what came back\n" + _pretty(found["error"]))
    if found["result"] is not None:
        parts.append("what it returned\n" + _pretty(found["result"]))
    parts += [part for part in (_progress(found), _findings(found), moves(found)) if part]
    return "\n".join(parts)


def moves(found: JsonObject) -> str:
    """Return what may be said of an effect, with what each finding leads to."""
    lines = ["what you may say"]
    for move in cast("list[JsonObject]", found["moves"]):
        lines.append(f"{_INDENT}{move['status']}: {move['consequence']}")
        if move["needsResult"]:
            source = cast("JsonObject", found["contract"])["source"]
            lines.append(f"{_INDENT * 2}it needs the result, as JSON: {source}")
        if move["needsApproval"]:
            lines.append(f"{_INDENT * 2}the policy asks a person to confirm it")
    probe = found["probe"]
    if isinstance(probe, dict):
        lines.append(f"{_INDENT}or ask the probe {probe['action']} ({probe['operation']})")
    return "\n".join(map(visible, lines))


def _dispatched(found: JsonObject) -> str:
    times = cast("int", found["dispatches"])
    ended = f", given up {found['endedAt']}" if found["endedAt"] else ""
    return f"{counted(times, 'time')}, last {found['startedAt']}{ended}"


def _known(found: JsonObject) -> Iterator[tuple[str, str]]:
    for one in cast("list[JsonObject]", found["artifacts"]):
        yield "artifact", f"{one['logicalPath']}  {one['digest']}"
    pid = _pid(found)
    if pid is not None:
        yield "process", f"pid {pid}"
    about = found["file"]
    if not isinstance(about, dict):
        return
    wanted, now = cast("JsonObject", about["wanted"]), cast("JsonObject", about["now"])
    yield "file", str(about["path"])
    yield "to write", f"{wanted['sha256']} ({wanted['bytes']} bytes)"
    yield "before", str(about["earlier"] or "not known to this run")
    same = "; exactly what was to be written" if about["isAsWanted"] else ""
    yield "now", f"{now['sha256'] or now['problem']}{same}"


def _pid(found: JsonObject) -> JsonValue:
    """Return the process id, where an executor or its progress told one."""
    told: list[JsonValue] = [found["error"], found["result"]]
    told += [one["payload"] for one in cast("list[JsonObject]", found["progress"])]
    return next((one["pid"] for one in told if isinstance(one, dict) and "pid" in one), None)


def _progress(found: JsonObject) -> str:
    shown = cast("list[JsonObject]", found["progress"])[-_PROGRESS_SHOWN:]
    lines = [
        f"{_INDENT}{one['at']} {one['eventType']} {json.dumps(one['payload'], ensure_ascii=False)}"
        for one in shown
    ]
    return "\n".join(["its latest progress", *map(visible, lines)]) if lines else ""


def _findings(found: JsonObject) -> str:
    lines = [
        f"{_INDENT}{one['at']} {one['actor']}: {one['status']}: {one.get('reason', '')}"
        for one in cast("list[JsonObject]", found["findings"])
    ]
    return "\n".join(["found out before", *map(visible, lines)]) if lines else ""


def _look(workspace: str, path: str) -> JsonObject:
    """Return what a workspace file holds now: its digest, or why there is none."""
    from hashlib import sha256

    from agentctl.effects.paths import Missing, PathProblem, read_below, split

    inside = path.removeprefix(workspace.rstrip("/") + "/")
    try:
        data = read_below(workspace, split(inside), FILE_BYTES_MAX)
    except (Missing, FileNotFoundError):
        return {"sha256": None, "bytes": None, "problem": "there is no such file"}
    except (PathProblem, OSError) as error:
        reason = getattr(error, "reason", None) or getattr(error, "strerror", None) or str(error)
        return {"sha256": None, "bytes": None, "problem": str(reason)}
    return {"sha256": sha256(data).hexdigest(), "bytes": len(data), "problem": None}


def _pretty(value: JsonValue) -> str:
    text = json.dumps(value, ensure_ascii=False, indent=2)
    return "\n".join(_INDENT + visible(line) for line in text.splitlines())
