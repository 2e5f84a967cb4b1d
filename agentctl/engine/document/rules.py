"""Rules between the fields of one object that types and bounds cannot say.

Above: the reader. Below: the model. Every broken rule is reported, by path.
Source: specification, section 1.1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from attr import fields, has

from agentctl.diagnostics import Diagnostic
from agentctl.engine.document.fields import document_name
from agentctl.engine.document.model import Action, Agent, Task
from agentctl.engine.document.secret_model import Secret

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Broken = Iterator[tuple[str, str, str | None]]

_PROCESS_KINDS = ("builtin.shell.exec", "extension.process")
_IDEMPOTENT_KINDS = ("extension.process", "mcp.call", "a2a.delegate")
_PROCESS_FIELDS = (
    "command",
    "cwd",
    "stdout_limit_bytes",
    "stderr_limit_bytes",
    "combined_output_limit_bytes",
    "container",
)
_EXTENSION_FIELDS = ("protocol_version", "input_schema", "output_schema")


def check_rules(document: object, file: str) -> list[Diagnostic]:
    """Return every broken rule in a document."""
    return [
        Diagnostic(
            code="invalid_secret_reference" if kind is Secret else "schema_violation",
            message=message,
            file=file,
            path=f"{path}.{name}" if name else path,
            help=help,
        )
        for path, part, kind in _parts("", document)
        for name, message, help in _RULES.get(kind, _nothing)(part)
    ]


def _parts(path: str, value: object) -> Iterator[tuple[str, object, type]]:
    """Walk every model object with its path."""
    if has(type(value)):
        yield path, value, type(value)
        for one in fields(type(value)):
            inner = f"{path}.{document_name(one)}" if path else document_name(one)
            yield from _parts(inner, getattr(value, one.name))
    elif isinstance(value, dict):
        for key, one in value.items():
            if has(type(one)):
                yield from _parts(f"{path}.{key}", one)
    elif isinstance(value, list):
        for index, one in enumerate(value):
            if has(type(one)):
                yield from _parts(f"{path}[{index}]", one)


def _nothing(_: object) -> Broken:
    return iter(())


def _agent(agent: Agent) -> Broken:
    if agent.instructions is None and agent.instructions_file is None:
        yield "instructions", "instructions or instructionsFile is missing", None
    elif agent.instructions is not None and agent.instructions_file is not None:
        yield "instructionsFile", "an agent has instructions or instructionsFile, not both", None


def _secret(secret: Secret) -> Broken:
    given = [one for one in (secret.env, secret.file, secret.process) if one is not None]
    if len(given) != 1:
        help = "write { env: NAME }, { file: PATH } or { process: { command: … } }"
        yield "", "a secret has exactly one of env, file and process", help


def _action(action: Action) -> Broken:
    process = action.kind in _PROCESS_KINDS
    if process and action.command is None:
        yield "command", f"{action.kind} needs a command", None
    if not process:
        for name in _PROCESS_FIELDS:
            if getattr(action, name) is not None:
                yield document_field(name), f"only process kinds have {document_field(name)}", None
    if action.kind != "extension.process":
        for name in _EXTENSION_FIELDS:
            if getattr(action, name) is not None:
                shown = document_field(name)
                yield shown, f"only extension.process has {shown}", None
    if action.idempotency is not None and action.kind not in _IDEMPOTENT_KINDS:
        help = "the idempotency of a built-in action is known"
        yield "idempotency", f"{action.kind} declares no idempotency", help
    if action.isolation == "container" and action.container is None:
        yield "container", "isolation: container needs a container", None


def _task(task: Task) -> Broken:
    expansions = [
        name for name in ("foreach", "matrix", "loop") if getattr(task, name) is not None
    ]
    if len(expansions) > 1:
        yield expansions[1], f"a task has one of {' and '.join(expansions)}, not both", None


def document_field(name: str) -> str:
    """Return an action's field in document spelling."""
    return next(document_name(one) for one in fields(Action) if one.name == name)


_RULES: dict[type, Callable[..., Broken]] = {
    Agent: _agent,
    Secret: _secret,
    Action: _action,
    Task: _task,
}
