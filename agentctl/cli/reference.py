"""The command-line reference as Markdown, generated from the commands themselves.

Above: `python -m agentctl.cli.reference`, and the test that holds the checked-in page against it.
Below: the tree of commands.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

from typer.core import TyperGroup

from agentctl.cli.app import build

if TYPE_CHECKING:
    from collections.abc import Iterator

    from typer._click import Command, Context

_GLOBAL: Final = ("output", "color", "verbose", "db", "durability", "shared_filesystem")
_HEAD: Final = """\
# The command line

Every command accepts the global options, before or after its name. With `--output json` exactly
one JSON document is written to standard output; `run`, `resume` and `replay` also know `jsonl`.

| exit code | meaning |
| --- | --- |
| 0 | success |
| 2 | wrong usage, or a document that does not compile |
| 3 | paused, or refused in the present state |
| 4 | the run failed |
| 5 | the database could not keep its promise |
| 6 | something outside is missing: a credential, a program |
| 70 | a bug of agentctl |
| 130 | cancelled |
"""


def markdown() -> str:
    """Return the whole reference."""
    root = build()
    context = root.make_context("agentctl", ["version"], resilient_parsing=True)
    parts = [_HEAD, "## Global options\n", *_options(root, context, shared=True)]
    assert isinstance(root, TyperGroup)
    for name, command, inner in _commands(root, context, "agentctl"):
        help = (command.help or "").strip()
        parts += [f"\n## `{name}`\n", help, f"\n    {_usage(name, command, inner)}\n"]
        parts += _options(command, inner, shared=False)
    return "\n".join(parts) + "\n"


def _commands(
    group: TyperGroup, context: Context, prefix: str
) -> Iterator[tuple[str, Command, Context]]:
    """Yield every command that does something, with its full name."""
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if command is None:
            continue
        inner = type(context)(command, info_name=name, parent=context)
        if isinstance(command, TyperGroup):
            yield from _commands(command, inner, f"{prefix} {name}")
        else:
            yield f"{prefix} {name}", command, inner


def _usage(name: str, command: Command, context: Context) -> str:
    return " ".join((name, *command.collect_usage_pieces(context)))


def _options(command: Command, context: Context, *, shared: bool) -> list[str]:
    """Return a table of options; the global ones only when asked for."""
    rows = []
    for one in command.get_params(context):
        record = one.get_help_record(context)
        if record is None or one.name == "help" or (one.name in _GLOBAL) != shared:
            continue
        rows.append("| " + " | ".join(_cell(part, at) for at, part in enumerate(record)) + " |")
    return ["| option | meaning |", "| --- | --- |", *rows] if rows else []


def _cell(text: str, place: int) -> str:
    escaped = text.replace("|", "\\|")
    return f"`{escaped}`" if place == 0 else escaped


if __name__ == "__main__":
    sys.stdout.write(markdown())
