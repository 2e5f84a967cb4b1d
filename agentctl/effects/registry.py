"""Which executor performs which operation.

Above: the wiring. One table of lazy makers, so that starting up pays only for what a plan uses.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from agentctl.engine.ports import Executor


def _files(name: str) -> Callable[[], Executor]:
    def make() -> Executor:
        from agentctl.effects import files

        made: Executor = getattr(files, name)()
        return made

    return make


def _fake() -> Executor:
    from agentctl.effects.fake import FakeProvider

    return FakeProvider()


def _shell() -> Executor:
    from agentctl.effects.processes.shell import ShellExec

    return ShellExec()


def _extension() -> Executor:
    from agentctl.effects.processes.extension import ProcessExtension

    return ProcessExtension()


def _model(module: str, name: str) -> Callable[[], Executor]:
    def make() -> Executor:
        from importlib import import_module

        from agentctl.effects.models.executor import ModelExecutor

        adapter = getattr(import_module(f"agentctl.effects.models.{module}"), name)()
        return ModelExecutor(adapter)

    return make


_MAKERS: dict[str, Callable[[], Executor]] = {
    "builtin.read": _files("ReadFile"),
    "builtin.write": _files("WriteFile"),
    "builtin.workspace.read": _files("ReadFileTool"),
    "builtin.workspace.write": _files("WriteFileTool"),
    "builtin.echo": _files("Echo"),
    "builtin.shell.exec": _shell,
    "extension.process": _extension,
    "model.fake": _fake,
    "model.openai": _model("openai", "OpenAi"),
    "model.azure_openai": _model("azure_openai", "AzureOpenAi"),
    "model.anthropic": _model("anthropic", "Anthropic"),
    "model.google": _model("google", "Google"),
    "model.openai_compatible": _model("openai_chat", "OpenAiChat"),
}


def executors_for(operations: Iterable[str]) -> tuple[dict[str, Executor], list[str]]:
    """Return an executor for each operation, and the operations that have none here."""
    found: dict[str, Executor] = {}
    missing: list[str] = []
    for operation in sorted(operations):
        maker = _MAKERS.get(operation)
        if maker is None:
            missing.append(operation)
        else:
            found[operation] = maker()
    return found, missing
