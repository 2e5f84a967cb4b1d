"""What executors need to know, in the document's spelling with every default filled in.

Above: the pipeline and the library. Below: the document model. Data only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from agentctl.engine.document.normal import to_json
from agentctl.jsonvalue import digest, digest_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentctl.engine.compiler.library import AgentEntry, Library
    from agentctl.engine.document.model import Workflow
    from agentctl.jsonvalue import JsonObject

# These reach the plan in another form, or as its tasks.
_LEFT_OUT = frozenset(
    {"tasks", "subworkflows", "packs", "varsFiles", "vars", "runtime", "actions", "agents"}
)


def normal_object(value: object) -> JsonObject:
    """Return a part of the model as a JSON object."""
    return cast("JsonObject", to_json(value))


def workflow_digest(document: Workflow, digests: Mapping[str, str]) -> str:
    """Return the digest of what a workflow means: its normal form and its files.

    Comments, order of keys and spelling of values do not reach it.
    """
    return digest({"document": normal_object(document), "sources": dict(digests)})


def definitions_of(document: Workflow, library: Library, variables: JsonObject) -> JsonObject:
    """Return the definitions of a plan; `variables` are those of `spec`."""
    spec = normal_object(document.spec)
    runtime = cast("JsonObject", spec["runtime"])
    budgets = cast("JsonObject", runtime["budgets"])
    made = {key: value for key, value in spec.items() if key not in _LEFT_OUT}
    made["actions"] = {name: one.definition for name, one in library.actions.items()}
    made["agents"] = {name: _agent(one) for name, one in library.agents.items()}
    if any(one.agent.catalog for one in library.agents.values()):
        from agentctl.engine.compiler.catalog import catalog_definitions

        made["catalogTools"] = catalog_definitions(made)
    made["budgets"] = {key: value for key, value in budgets.items() if value is not None}
    made["pricing"] = runtime["pricing"] or {}
    made["runtime"] = {
        "maxConcurrency": runtime["maxConcurrency"],
        "defaultTimeoutSeconds": runtime["defaultTimeoutSeconds"],
    }
    made["vars"] = variables
    return made


def _agent(entry: AgentEntry) -> JsonObject:
    """Return an agent with its final text; a text from a file also as its digest."""
    made = normal_object(entry.agent)
    for key in ("vars", "varsFiles"):
        made.pop(key, None)
    made["instructions"] = entry.instructions
    if entry.agent.instructions_file is not None or entry.agent.file is not None:
        made["instructionsDigest"] = digest_text(entry.instructions)
    if entry.record is not None:
        made["agentFile"] = entry.record
    return made
