"""Before a run goes on: its agent files must be what they were when it was started.

Above: resume. Below: the plan, which keeps each file's digest and grant, and the readers of agent
files. What the plan keeps is what a run goes by; a file that says something else by now shows that
somebody decided anew, so the run stops before anything is dispatched.
Source: the agent-file specification, section 14.
"""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, cast

from agentctl.errors import AgentFileChanged, SourceError
from agentctl.machines.sets import RUN_FINAL

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentctl.agentfiles.model import Format
    from agentctl.engine.plan import Plan
    from agentctl.engine.records import RunRecord
    from agentctl.engine.values.capture import SourceReader
    from agentctl.jsonvalue import JsonObject


def refuse_changed(run: RunRecord, plan: Plan, reader: SourceReader) -> None:
    """Raise AgentFileChanged with everything that changed, for a run that is not over.

    Agents that no task uses do not count.
    """
    if run.state in RUN_FINAL:
        return
    changed = [
        f"{record['path']} (agent {name!r}): {'; '.join(told)}."
        for name, record in _records(plan)
        if (told := _changes(record, run.folder, reader))
    ]
    if changed:
        raise AgentFileChanged(
            f"the agent files of run {run.id} changed since it was started. {' '.join(changed)}",
            help="put back what the files said and resume, or start anew with what they say now: "
            f"`agentctl cancel {run.id}`, then `agentctl run` with the workflow",
            run_id=run.id,
        )


def _records(plan: Plan) -> Iterator[tuple[str, JsonObject]]:
    """Return what the plan keeps of the files of agents that tasks use."""
    used = {one.uses_name for one in plan.tasks.values() if one.uses_kind == "agent"}
    agents = cast("dict[str, JsonObject]", plan.definitions["agents"])
    for name, agent in agents.items():
        if name in used and "agentFile" in agent:
            yield name, cast("JsonObject", agent["agentFile"])


def _changes(record: JsonObject, folder: str, reader: SourceReader) -> list[str]:
    """Return what changed in one file; nothing when its bytes are the same."""
    path = cast("str", record["path"])
    try:
        raw = reader.read(path, folder)
    except SourceError as error:
        return [f"it cannot be read any more: {error.message}"]
    digest = sha256(raw).hexdigest()
    if digest == record["digest"]:
        return []
    # Only a changed file needs the readers of its format.
    from agentctl.agentfiles.agent import read_agent
    from agentctl.agentfiles.recorded import differences, record_of

    try:
        read = read_agent(raw.decode("utf-8"), cast("Format", record["format"]))
    except UnicodeDecodeError:
        return ["it is not UTF-8 text any more"]
    return differences(record, record_of(read, path, digest))
