"""The unversioned playbook form, translated into a v1 workflow.

Above: the reader and `agentctl migrate`. Below: the tree. Translation works on nodes, so every
diagnostic still points at the text that the user has.
Source: specification, section 1 (legacy documents).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentctl.diagnostics import Diagnostic
from agentctl.engine.document.model import Workflow
from agentctl.engine.document.structure import structure
from agentctl.engine.document.tree import is_legacy, parse_tree
from agentctl.text.core_schema import NULLS
from agentctl.text.nodes import Mapping, Scalar, Sequence

if TYPE_CHECKING:
    from agentctl.text.nodes import Node

_DROPPED = ("defaults", "promptCache", "mcpServers", "a2aAgents", "packs", "version")


def migrated_tree(root: Mapping, file: str) -> tuple[Mapping, list[Diagnostic]]:
    """Return the v1 tree of a playbook, and the warning that it was translated."""
    line, column = root.keys["playbook"]
    warning = Diagnostic(
        code="migration_required",
        severity="warning",
        message="this unversioned playbook is read as an agentctl.dev/v1 workflow",
        file=file,
        path="playbook",
        line=line,
        column=column,
        help="write it once with `agentctl migrate FILE --write NEW`",
    )
    at = (root.line, root.column)
    metadata = _mapping(at, {"name": root.entries["playbook"]})
    if "description" in root.entries:
        _put(metadata, "description", root.entries["description"])
    made = _mapping(
        at,
        {
            "apiVersion": _text("agentctl.dev/v1", at),
            "kind": _text("Workflow", at),
            "metadata": metadata,
            "spec": _spec(root),
        },
    )
    return made, [warning]


def migrate_text(raw: bytes, file: str) -> tuple[str | None, list[Diagnostic]]:
    """Return the YAML text of the v1 workflow, and what was noticed on the way.

    There is no text where the translation is not a workflow that can be read.
    """
    from agentctl.engine.document.writing import yaml_text

    tree = parse_tree(raw, file)
    if tree.root is None or tree.problems:
        return None, tree.problems
    if not isinstance(tree.root, Mapping) or not is_legacy(tree.root):
        message = "only an unversioned document with `playbook: NAME` can be migrated"
        problem = Diagnostic(
            code="incompatible_state", message=message, file=file, line=1, column=1
        )
        return None, [problem]
    made, found = migrated_tree(tree.root, file)
    problems = structure(made, Workflow, file)[1]
    if problems:
        return None, found + problems
    text = yaml_text(made)
    # A translation stands one level deeper and writes aliases out, so it can pass a limit.
    problems = parse_tree(text.encode(), file).problems
    return (None, found + problems) if problems else (text, found)


def _spec(root: Mapping) -> Mapping:
    """Return the spec, its best-known fields first, unknown ones last for the reader to name."""
    spec = _mapping((root.line, root.column), {})
    _move(root, spec, ("inputs", "outputs", "varsFiles", "vars"))
    _providers(root, spec)
    _agents(root, spec)
    _actions(root, spec)
    _move(root, spec, ("tools",))
    _memory(root, spec)
    _policy(root, spec)
    _move(root, spec, ("runtime", "output"))
    _tasks(root, spec)
    known = {*spec.entries, *_DROPPED, "playbook", "description", "modules", "providers"}
    _move(root, spec, tuple(key for key in root.entries if key not in known))
    return spec


def _move(root: Mapping, spec: Mapping, names: tuple[str, ...]) -> None:
    for name in names:
        if name in root.entries:
            _put(spec, name, root.entries[name], root.keys[name])


def _actions(root: Mapping, spec: Mapping) -> None:
    """Give modules and actions one name; where both declare one, the newer form holds."""
    modules, actions = root.entries.get("modules"), root.entries.get("actions")
    if isinstance(modules, Mapping) and isinstance(actions, Mapping):
        both = _copy(modules)
        for name, node in actions.entries.items():
            _put(both, name, node, actions.keys[name])
        _put(spec, "actions", both, root.keys["modules"])
        return
    for key in ("modules", "actions"):
        if key in root.entries and not _is_blank(root.entries[key]):
            _put(spec, "actions", root.entries[key], root.keys[key])


def _is_blank(node: Node) -> bool:
    return isinstance(node, Scalar) and node.plain and node.text in NULLS


def _policy(root: Mapping, spec: Mapping) -> None:
    policy = root.entries.get("policy")
    if policy is None:
        return
    if isinstance(policy, Mapping):
        policy = _copy(policy)
        mode = policy.entries.pop("approvalMode", None)
        if mode is not None and not isinstance(mode, Scalar):
            _put(policy, "approval", mode)
        elif mode is not None:
            approval = mode.text if mode.text in ("never", "always") else "mutations"
            _put(policy, "approval", _text(approval, (mode.line, mode.column)))
    _put(spec, "policy", policy, root.keys["policy"])


def _memory(root: Mapping, spec: Mapping) -> None:
    memory = root.entries.get("memory")
    if memory is None:
        return
    if isinstance(memory, Mapping):
        memory = _copy(memory)
        working = memory.entries.get("working")
        if isinstance(working, Mapping) and "initial" in working.entries:
            _put(memory, "working", working.entries["initial"])
    _put(spec, "memory", memory, root.keys["memory"])


def _providers(root: Mapping, spec: Mapping) -> None:
    """Give a document without providers the two that it could always use."""
    at = (root.line, root.column)
    given = root.entries.get("providers")
    if given is None or _is_blank(given):
        key = _mapping(at, {"env": _text("OPENAI_API_KEY", at)})
        openai = _mapping(at, {"kind": _text("openai", at), "credential": key})
        fake = _mapping(at, {"kind": _text("fake", at)})
        _put(spec, "providers", _mapping(at, {"fake": fake, "openai": openai}))
        return
    if isinstance(given, Mapping):
        given = _copy(given)
        given.entries = {name: _provider(node) for name, node in given.entries.items()}
    _put(spec, "providers", given, root.keys["providers"])


def _provider(node: Node) -> Node:
    """Drop the provider fields of that age."""
    if not isinstance(node, Mapping):
        return node
    made = _copy(node)
    for key in list(made.entries):
        if key not in ("kind", "endpoint", "credential", "apiVersion", "headers"):
            del made.entries[key]
    return made


def _agents(root: Mapping, spec: Mapping) -> None:
    agents = root.entries.get("agents")
    if agents is None:
        return
    if isinstance(agents, Mapping):
        agents = _copy(agents)
        agents.entries = {name: _agent(node) for name, node in agents.entries.items()}
    _put(spec, "agents", agents, root.keys["agents"])


def _agent(node: Node) -> Node:
    """Drop an agent's kind; the heuristic one is the fake provider's work now."""
    if not isinstance(node, Mapping):
        return node
    agent = _copy(node)
    kind = agent.entries.pop("kind", None)
    if isinstance(kind, Scalar) and kind.text == "builtin.heuristic":
        _put(agent, "provider", _text("fake", (kind.line, kind.column)))
    for key in _DROPPED:
        agent.entries.pop(key, None)
    return agent


def _tasks(root: Mapping, spec: Mapping) -> None:
    tasks = root.entries.get("tasks")
    if tasks is None:
        return
    if isinstance(tasks, Sequence):
        tasks = Sequence([_task(node) for node in tasks.items], tasks.line, tasks.column)
    _put(spec, "tasks", tasks, root.keys["tasks"])


def _task(node: Node) -> Node:
    """Call modules actions, also where a task is undone."""
    if not isinstance(node, Mapping):
        return node
    task = _copy(node)
    uses = task.entries.get("uses")
    if isinstance(uses, Scalar) and uses.text.startswith("module:"):
        text = "action:" + uses.text.removeprefix("module:")
        task.entries["uses"] = _text(text, (uses.line, uses.column))
    if "compensate" in task.entries:
        task.entries["compensate"] = _task(task.entries["compensate"])
    return task


def _copy(node: Mapping) -> Mapping:
    return Mapping(dict(node.entries), dict(node.keys), node.line, node.column)


def _put(target: Mapping, key: str, node: Node, place: tuple[int, int] | None = None) -> None:
    target.entries[key] = node
    target.keys[key] = place or (node.line, node.column)


def _mapping(at: tuple[int, int], entries: dict[str, Node]) -> Mapping:
    return Mapping(dict(entries), dict.fromkeys(entries, at), *at)


def _text(text: str, at: tuple[int, int]) -> Scalar:
    return Scalar(text, True, *at)
