"""The unversioned playbook form, translated into a v1 workflow.

Above: the reader and `agentctl migrate`. Below: the tree. Translation works on nodes, so every
diagnostic still points at the text that the user has.
Source: specification, section 1 (legacy documents).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from agentctl.diagnostics import Diagnostic
from agentctl.engine.document.tree import Mapping, Scalar, Sequence, parse_tree

if TYPE_CHECKING:
    from agentctl.engine.document.tree import Node
    from agentctl.jsonvalue import JsonObject, JsonValue

_DROPPED = ("defaults", "promptCache", "mcpServers", "a2aAgents", "packs", "version")
_KEPT = ("inputs", "outputs", "agents", "tools", "tasks", "vars", "runtime", "output")
_KEY_ORDER = (
    "apiVersion",
    "kind",
    "metadata",
    "spec",
    "name",
    "description",
    "inputs",
    "outputs",
    "providers",
    "agents",
    "tools",
    "actions",
    "memory",
    "policy",
    "tasks",
)


def is_legacy(root: Mapping) -> bool:
    """Return whether a document is an unversioned playbook."""
    return "playbook" in root.entries and "apiVersion" not in root.entries


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
    """Return the YAML text of the v1 workflow, and what was noticed on the way."""
    import yaml

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
    from agentctl.engine.document.structure import Placed, json_value

    value = cast("JsonObject", json_value(Placed(made, "", file, found)))
    text: str = yaml.safe_dump(_ordered(value), sort_keys=False, allow_unicode=True, width=99)
    return text, found


def _spec(root: Mapping) -> Mapping:
    spec = _mapping((root.line, root.column), {})
    for key in _KEPT:
        if key in root.entries:
            _put(spec, key, root.entries[key], root.keys[key])
    _actions(root, spec)
    _policy(root, spec)
    _memory(root, spec)
    _providers(root, spec)
    _agents(spec)
    _tasks(spec)
    known = {*_KEPT, *_DROPPED, "playbook", "description", "modules", "actions"}
    known |= {"policy", "memory", "providers"}
    for key, node in root.entries.items():
        if key not in known:
            # Left in place, so that the reader names it as an unknown field.
            _put(spec, key, node, root.keys[key])
    return spec


def _actions(root: Mapping, spec: Mapping) -> None:
    for key in ("actions", "modules"):
        if key in root.entries:
            _put(spec, "actions", root.entries[key], root.keys[key])


def _policy(root: Mapping, spec: Mapping) -> None:
    policy = root.entries.get("policy")
    if not isinstance(policy, Mapping):
        return
    made = _copy(policy)
    mode = made.entries.pop("approvalMode", None)
    if isinstance(mode, Scalar):
        approval = mode.text if mode.text in ("never", "always") else "mutations"
        _put(made, "approval", _text(approval, (mode.line, mode.column)))
    _put(spec, "policy", made, root.keys["policy"])


def _memory(root: Mapping, spec: Mapping) -> None:
    memory = root.entries.get("memory")
    if not isinstance(memory, Mapping):
        return
    made = _copy(memory)
    working = made.entries.get("working")
    if isinstance(working, Mapping) and "initial" in working.entries:
        _put(made, "working", working.entries["initial"])
    _put(spec, "memory", made, root.keys["memory"])


def _providers(root: Mapping, spec: Mapping) -> None:
    """Give a document without providers the two that it could always use."""
    at = (root.line, root.column)
    given = root.entries.get("providers")
    if isinstance(given, Mapping):
        made = _mapping((given.line, given.column), {})
        for name, node in given.entries.items():
            _put(made, name, _provider(node), given.keys[name])
        _put(spec, "providers", made, root.keys["providers"])
        return
    key = _mapping(at, {"env": _text("OPENAI_API_KEY", at)})
    openai = _mapping(at, {"kind": _text("openai", at), "credential": key})
    fake = _mapping(at, {"kind": _text("fake", at)})
    _put(spec, "providers", _mapping(at, {"fake": fake, "openai": openai}))


def _provider(node: Node) -> Node:
    """Drop the provider fields of that age."""
    if not isinstance(node, Mapping):
        return node
    made = _copy(node)
    for key in list(made.entries):
        if key not in ("kind", "endpoint", "credential", "apiVersion", "headers"):
            del made.entries[key]
    return made


def _agents(spec: Mapping) -> None:
    agents = spec.entries.get("agents")
    if not isinstance(agents, Mapping):
        return
    made = _copy(agents)
    for name, node in made.entries.items():
        if not isinstance(node, Mapping):
            continue
        agent = _copy(node)
        kind = agent.entries.pop("kind", None)
        if isinstance(kind, Scalar) and kind.text == "builtin.heuristic":
            _put(agent, "provider", _text("fake", (kind.line, kind.column)))
        for key in _DROPPED:
            agent.entries.pop(key, None)
        made.entries[name] = agent
    spec.entries["agents"] = made


def _tasks(spec: Mapping) -> None:
    tasks = spec.entries.get("tasks")
    if not isinstance(tasks, Sequence):
        return
    items = []
    for node in tasks.items:
        task = _copy(node) if isinstance(node, Mapping) else node
        uses = task.entries.get("uses") if isinstance(task, Mapping) else None
        if isinstance(task, Mapping) and isinstance(uses, Scalar):
            text = uses.text
            if text.startswith("module:"):
                text = "action:" + text.removeprefix("module:")
            task.entries["uses"] = _text(text, (uses.line, uses.column))
        items.append(task)
    spec.entries["tasks"] = Sequence(items, tasks.line, tasks.column)


def _copy(node: Mapping) -> Mapping:
    return Mapping(dict(node.entries), dict(node.keys), node.line, node.column)


def _put(target: Mapping, key: str, node: Node, place: tuple[int, int] | None = None) -> None:
    target.entries[key] = node
    target.keys[key] = place or (node.line, node.column)


def _mapping(at: tuple[int, int], entries: dict[str, Node]) -> Mapping:
    return Mapping(dict(entries), dict.fromkeys(entries, at), *at)


def _text(text: str, at: tuple[int, int]) -> Scalar:
    return Scalar(text, False, *at)


def _ordered(value: JsonValue) -> JsonValue:
    """Return a value with the best-known keys first, as people write them."""
    if isinstance(value, list):
        return [_ordered(one) for one in value]
    if not isinstance(value, dict):
        return value
    first = [key for key in _KEY_ORDER if key in value]
    rest = [key for key in value if key not in first]
    return {key: _ordered(value[key]) for key in first + rest}
