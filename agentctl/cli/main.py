"""The entry point: run one command, and turn every failure into one clear answer.

Above: the console script and `python -m agentctl`. Below: `app`. No traceback reaches a person
unless `--verbose` asks for one.
"""

from __future__ import annotations

import gc
import os
import sys
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from typer.exceptions import Abort, TyperException

from agentctl.cli.console import Console

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentctl.errors import DocumentError
    from agentctl.jsonvalue import JsonObject


def main(argv: Sequence[str] | None = None) -> None:
    """Run the program and leave with its exit code."""
    code = run(list(sys.argv[1:] if argv is None else argv))
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        _drop_stdout()
    # Everything goes with the process; the interpreter's last collection, which would look at
    # every object once more, finds none to look at.
    gc.freeze()
    sys.exit(code)


class Failure(NamedTuple):
    """An error as it is reported: what a script compares, and what a person reads."""

    code: str
    exit_code: int
    message: str
    help: str | None = None
    run_id: str | None = None


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
    except (KeyboardInterrupt, Abort):
        return _report(console, _interrupted())
    except TyperException as error:
        return _report(console, _usage(argv, error))
    except Exception as error:  # noqa: BLE001  (the last line of defence)
        return _report_error(console, error)


def _invoke(argv: list[str], console: Console) -> int:
    from agentctl.cli.app import build

    if "_AGENTCTL_COMPLETE" in os.environ:
        # A shell asks for completions; Typer knows the shells only after this.
        from typer._completion_classes import completion_init

        completion_init()
    command = build()
    code = command.main(argv, prog_name="agentctl", standalone_mode=False, obj=console)
    return code if isinstance(code, int) else 0


def _take_asked(console: Console, argv: Sequence[str]) -> None:
    """Set the output mode and colour that the arguments ask for, even when they do not parse."""
    for word, following in pairwise([*argv, ""]):
        name, equals, value = word.partition("=")
        asked = value if equals else following
        if name == "--output" and asked in ("json", "jsonl"):
            console.output = "jsonl" if asked == "jsonl" else "json"
        elif name == "--color" and asked in ("always", "never"):
            console.colour = "never" if asked == "never" else "always"


def _interrupted() -> Failure:
    from agentctl.errors import RunCancelled

    return Failure(RunCancelled.code, RunCancelled.exit_code, "interrupted")


def _usage(argv: Sequence[str], error: TyperException) -> Failure:
    from agentctl.cli.usage import explain

    message, help = explain(error, argv)
    return Failure("usage", 2, message, help)


def _report_error(console: Console, error: Exception) -> int:
    """Report any other exception; only errors of our own have a code and a next step."""
    from agentctl.errors import AgentctlError, Bug, DocumentError

    if console.verbose and console.is_human:
        import traceback

        traceback.print_exception(error)
    if isinstance(error, DocumentError):
        return _report_document(console, error)
    if isinstance(error, AgentctlError):
        own = Failure(error.code, error.exit_code, error.message, error.help, error.run_id)
        return _report(console, own)
    if isinstance(error, OSError):
        place = f"{error.filename}: " if error.filename else ""
        return _report(console, Failure("system", 5, f"{place}{error.strerror or error}"))
    message = f"internal error: {type(error).__name__}: {error}"
    help = "please report this; run the command again with --verbose to see where it happened"
    return _report(console, Failure(Bug.code, Bug.exit_code, message, help))


def _report_document(console: Console, error: DocumentError) -> int:
    from agentctl.cli import problems

    if console.is_human:
        colour = console.uses_colour(sys.stderr)
        console.note(problems.render(error.diagnostics, colour=colour))
        return error.exit_code
    own = Failure(error.code, error.exit_code, error.message, error.help)
    listed = problems.as_json(error.diagnostics)
    console.document({"diagnostics": listed, "error": _body(console, own)})
    return error.exit_code


def _report(console: Console, failure: Failure) -> int:
    """Write an error in the asked form and return its exit code."""
    if not console.is_human:
        console.document({"error": _body(console, failure)})
        return failure.exit_code
    from agentctl.cli.paint import paint, visible

    head = paint(f"error[{failure.code}]:", "red", on=console.uses_colour(sys.stderr))
    lines = [f"{head} {visible(failure.message)}"]
    if failure.help:
        lines.append(f"  help: {visible(failure.help)}")
    console.note("\n".join(lines))
    return failure.exit_code


def _body(console: Console, failure: Failure) -> JsonObject:
    body: JsonObject = {
        "code": failure.code,
        "exitCode": failure.exit_code,
        "message": failure.message,
        "runId": failure.run_id or console.run_id,
        "traceId": console.trace_id,
    }
    if failure.help:
        body["help"] = failure.help
    return body


def _drop_stdout() -> None:
    """Point standard output nowhere, so that the interpreter's last flush cannot fail."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
