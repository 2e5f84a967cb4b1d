"""What a wrong command line should have been: the nearest command, option or value.

Above: `main`. Below: Typer's exceptions, read by their public attributes only.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from agentctl.suggest import did_you_mean, nearest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from typer.exceptions import TyperException

_NO_COMMAND = re.compile(r"No such command '(.*)'\.?$", re.DOTALL)
_SPACES = re.compile(r"\s*\n\s*")


def explain(error: TyperException, argv: Sequence[str]) -> tuple[str, str | None]:
    """Return the message of a usage error and a help sentence."""
    message = _SPACES.sub(" ", error.format_message()).strip()
    unknown = _NO_COMMAND.match(error.message)
    if unknown:
        return f"unknown command {unknown[1]!r}", _near_command(error, unknown[1])
    option = getattr(error, "option_name", None)
    if isinstance(option, str) and "No such option" in message:
        return f"unknown option {option!r}", _near_option(error, option)
    if not argv:
        return "no command given", "`agentctl --help` lists the commands"
    message = message.rstrip(".")
    return message[:1].lower() + message[1:], _try_help(error)


def _near_command(error: TyperException, name: str) -> str | None:
    context = getattr(error, "ctx", None)
    if context is None:
        return None
    return did_you_mean(name, context.command.list_commands(context))


def _near_option(error: TyperException, name: str) -> str | None:
    context = getattr(error, "ctx", None)
    if context is None:
        return None
    known = [opt for one in context.command.get_params(context) for opt in one.opts]
    near = nearest(name, [opt for opt in known if opt.startswith("--")])
    return f"did you mean {near!r}?" if near else _try_help(error)


def _try_help(error: TyperException) -> str | None:
    context = getattr(error, "ctx", None)
    return f"`{context.command_path} --help` shows what it accepts" if context else None
