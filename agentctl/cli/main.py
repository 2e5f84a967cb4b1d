"""The entry point: run one command, and turn every failure into one clear answer.

Above: the console script and `python -m agentctl`. Below: `app`. No traceback reaches a person
unless `--verbose` asks for one.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from typer.exceptions import Abort, TyperException

from agentctl.cli.console import Console

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentctl.errors import AgentctlError
    from agentctl.jsonvalue import JsonObject


def main(argv: Sequence[str] | None = None) -> None:
    """Run the program and leave with its exit code."""
    code = run(list(sys.argv[1:] if argv is None else argv))
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        _drop_stdout()
    sys.exit(code)


def run(argv: list[str]) -> int:
    """Run one command and return its exit code; nothing is raised."""
    console = Console()
    _take_asked(console, argv)
    console.verbose = "--verbose" in argv
    try:
        return _invoke(argv, console)
    except BrokenPipeError:
        _drop_stdout()
        return 0
    except KeyboardInterrupt:
        return _report(console, "cancelled", 130, "interrupted")
    except TyperException as error:
        return _report_usage(console, argv, error)
    except Abort:
        return _report(console, "cancelled", 130, "interrupted")
    except Exception as error:
        return _report_failure(console, error)


def _invoke(argv: list[str], console: Console) -> int:
    from agentctl.cli.app import build

    command = build()
    code = command.main(argv, prog_name="agentctl", standalone_mode=False, obj=console)
    return code if isinstance(code, int) else 0


def _take_asked(console: Console, argv: Sequence[str]) -> None:
    """Set the output mode and colour that the arguments ask for, even when they do not parse."""
    for word, following in zip(argv, [*argv[1:], ""], strict=True):
        name, equals, value = word.partition("=")
        asked = value if equals else following
        if name == "--output" and asked in ("json", "jsonl"):
            console.output = "jsonl" if asked == "jsonl" else "json"
        elif name == "--color" and asked in ("always", "never"):
            console.colour = "never" if asked == "never" else "always"


def _report_usage(console: Console, argv: Sequence[str], error: TyperException) -> int:
    from agentctl.cli.usage import explain

    message, help = explain(error, argv)
    return _report(console, "usage", 2, message, help)


def _report_failure(console: Console, error: Exception) -> int:
    """Report any other exception; only errors of our own have a code and a next step."""
    from agentctl.errors import AgentctlError, Bug, DocumentError

    if console.verbose and console.is_human:
        import traceback

        traceback.print_exception(error)
    if isinstance(error, DocumentError):
        return _report_document(console, error)
    if isinstance(error, AgentctlError):
        return _report(
            console, error.code, error.exit_code, error.message, error.help, _run_of(error)
        )
    if isinstance(error, OSError):
        place = f"{error.filename}: " if error.filename else ""
        return _report(console, "system", 5, f"{place}{error.strerror or error}")
    message = f"internal error: {type(error).__name__}: {error}"
    help = "please report this; run the command again with --verbose to see where it happened"
    return _report(console, Bug.code, Bug.exit_code, message, help)


def _run_of(error: AgentctlError) -> str | None:
    return error.run_id


def _report_document(console: Console, error: AgentctlError) -> int:
    from agentctl.cli import problems

    found = problems.of(error)
    if console.is_human:
        console.note(problems.render(found, colour=console.uses_colour(sys.stderr)))
        return error.exit_code
    listed = problems.as_json(found)
    body = _error_body(console, error.code, error.exit_code, error.message, error.help, None)
    console.document({"diagnostics": listed, "error": body})
    return error.exit_code


def _report(
    console: Console,
    code: str,
    exit_code: int,
    message: str,
    help: str | None = None,
    run_id: str | None = None,
) -> int:
    """Write an error in the asked form and return its exit code."""
    if not console.is_human:
        body = _error_body(console, code, exit_code, message, help, run_id)
        console.document({"error": body})
        return exit_code
    from agentctl.cli.paint import paint, visible

    head = paint(f"error[{code}]:", "red", console.uses_colour(sys.stderr))
    lines = [f"{head} {visible(message)}"]
    if help:
        lines.append(f"  help: {visible(help)}")
    console.note("\n".join(lines))
    return exit_code


def _error_body(
    console: Console,
    code: str,
    exit_code: int,
    message: str,
    help: str | None,
    run_id: str | None,
) -> JsonObject:
    body: JsonObject = {
        "code": code,
        "exitCode": exit_code,
        "message": message,
        "runId": run_id or console.run_id,
        "traceId": console.trace_id,
    }
    if help:
        body["help"] = help
    return body


def _drop_stdout() -> None:
    """Point standard output nowhere, so that the interpreter's last flush cannot fail."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
