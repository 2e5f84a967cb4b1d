"""Rules between the fields of one object that types and bounds cannot say.

Above: reading (which reports every broken rule at its place) and the JSON Schema (which says the
same rules in its own words, from the same tables). Below: the model.
Source: specification, section 1.1.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Final

from attr import fields, frozen

from agentctl.engine.document.fields import default_of, document_name
from agentctl.value import Value

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping
    from typing import Any

    from agentctl.diagnostics import DiagnosticCode
    from agentctl.engine.document.agent_model import Agent
    from agentctl.engine.document.model import Action, Task
    from agentctl.engine.document.secret_model import Secret, SecretProcess

SECRET_ARGUMENT_BYTES_MAX: Final = 4096

EXACTLY_ONE: Final[Mapping[str, tuple[str, ...]]] = {
    "Agent": ("instructions", "instructions_file", "file"),
    "Secret": ("env", "file", "process"),
}
"""Fields of which an object of a class, named here, gives exactly one."""

AT_MOST_ONE: Final[Mapping[str, tuple[str, ...]]] = {"Task": ("foreach", "matrix", "loop")}
"""Fields of which an object of a class, named here, gives at most one."""

PROCESS_KINDS: Final = ("builtin.shell.exec", "extension.process")
_EXTENSION: Final = ("extension.process",)

ACTION_FIELDS: Final[Mapping[tuple[str, ...], tuple[str, ...]]] = {
    PROCESS_KINDS: (
        "command",
        "args",
        "cwd",
        "env",
        "stdout_limit_bytes",
        "stderr_limit_bytes",
        "combined_output_limit_bytes",
        "isolation",
        "container",
    ),
    _EXTENSION: ("protocol_version", "input_schema", "output_schema", "capabilities"),
    (*_EXTENSION, "mcp.call", "a2a.delegate"): ("idempotency",),
}
"""Fields of an action that only some kinds have."""


@frozen(eq=False, repr=False)
class Broken(Value):
    """A broken rule; `name` is the document's name of the field, or empty for the object."""

    name: str
    message: str
    help: str | None = None
    code: DiagnosticCode = "schema_violation"


def broken_rules(value: object, unread: Collection[str] = ()) -> Iterator[Broken]:
    """Return every rule that one object of the model breaks; its parts are not looked at.

    `unread` names fields whose value is not what the document says; no rule about one of them
    is looked at.
    """
    rule, names = _RULES.get(type(value).__name__, (None, frozenset[str]()))
    return rule(value) if rule is not None and names.isdisjoint(unread) else iter(())


def is_given(value: object, name: str) -> bool:
    """Return whether a field says anything else than its default."""
    cls: type = type(value)
    given: bool = getattr(value, name) != _defaults(cls)[name]
    return given


def shown_name(cls: type, name: str) -> str:
    """Return a field's name in documents."""
    return next(document_name(one) for one in fields(cls) if one.name == name)


@cache
def _defaults(cls: type) -> dict[str, object]:
    return {one.name: default_of(one) for one in fields(cls)}


def _agent(agent: Agent) -> Iterator[Broken]:
    given = [name for name in EXACTLY_ONE["Agent"] if is_given(agent, name)]
    if not given:
        yield Broken("instructions", "instructions, instructionsFile or file is missing")
    elif len(given) > 1:
        first, second = (shown_name(type(agent), name) for name in given[:2])
        yield Broken(second, f"an agent has {first} or {second}, not both")
    if agent.file is None and agent.model is None:
        yield Broken("model", "model is missing", "only an agent `file` can name it instead")
    if agent.file is None and agent.format is not None:
        yield Broken("format", "a format needs an agent `file`")


def _secret(secret: Secret) -> Iterator[Broken]:
    if sum(is_given(secret, name) for name in EXACTLY_ONE["Secret"]) != 1:
        yield Broken(
            "",
            "a secret has exactly one of env, file and process",
            "write { env: NAME }, { file: PATH } or { process: { command: … } }",
            "invalid_secret_reference",
        )


def _secret_process(process: SecretProcess) -> Iterator[Broken]:
    for index, one in enumerate(process.args):
        size_bytes = len(one.encode())
        if size_bytes > SECRET_ARGUMENT_BYTES_MAX:
            message = f"the argument has {size_bytes} bytes; at most {SECRET_ARGUMENT_BYTES_MAX}"
            yield Broken(f"args[{index}]", message, None, "invalid_secret_reference")


def _action(action: Action) -> Iterator[Broken]:
    for kinds, names in ACTION_FIELDS.items():
        if action.kind in kinds:
            continue
        for name in names:
            if is_given(action, name):
                shown = shown_name(type(action), name)
                message = f"{action.kind} has no {shown}; only {' and '.join(kinds)} have it"
                yield Broken(shown, message)
    if action.kind not in PROCESS_KINDS:
        return
    if not action.command:
        yield Broken("command", f"{action.kind} needs a command")
    if action.isolation == "container" and action.container is None:
        yield Broken("container", "isolation: container needs a container")
    if action.isolation != "container" and action.container is not None:
        message = "the container would not be used: isolation is process"
        yield Broken("isolation", message, "write isolation: container")


def _task(task: Task) -> Iterator[Broken]:
    given = [name for name in AT_MOST_ONE["Task"] if is_given(task, name)]
    if len(given) > 1:
        yield Broken(given[1], f"a task has one of {' and '.join(given)}, not both")


_ACTION_NAMES: Final = ("kind", *(name for names in ACTION_FIELDS.values() for name in names))
_RULES: dict[str, tuple[Callable[[Any], Iterator[Broken]], frozenset[str]]] = {
    "Agent": (_agent, frozenset({*EXACTLY_ONE["Agent"], "model", "format"})),
    "Secret": (_secret, frozenset(EXACTLY_ONE["Secret"])),
    "SecretProcess": (_secret_process, frozenset({"args"})),
    "Action": (_action, frozenset(_ACTION_NAMES)),
    "Task": (_task, frozenset(AT_MOST_ONE["Task"])),
}
"""By the name of its class, each rule with the fields that it is about."""
