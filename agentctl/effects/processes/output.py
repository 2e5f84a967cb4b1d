"""What the executors of programs make of what a program printed.

Above: the executors. Below: a finished run. Source: specification, section 6 (processes).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentctl.errors import EffectError

if TYPE_CHECKING:
    from agentctl.effects.processes.command import Limits
    from agentctl.effects.processes.running import Captured, Finished
    from agentctl.jsonvalue import JsonObject


def refuse_overflow(finished: Finished, limits: Limits) -> None:
    """Raise the definite error of a program that was killed for printing too much."""
    if finished.overflow is None:
        return
    bounds = {
        "stdoutLimitBytes": limits.stdout_bytes,
        "stderrLimitBytes": limits.stderr_bytes,
        "combinedOutputLimitBytes": limits.combined_bytes,
    }
    bound = bounds[finished.overflow]
    raise EffectError(
        f"the program printed more than {finished.overflow} = {bound:,} bytes and was killed",
        code="output_too_large",
        detail={**seen(finished), "limit": finished.overflow, "limitBytes": bound},
    )


def refuse_signal(finished: Finished) -> None:
    """Raise the ambiguous error of a program that a signal ended; what it did nobody knows."""
    if finished.exit_code >= 0:
        return
    raise EffectError(
        f"the program was ended by {_signal(-finished.exit_code)}; it may have done its work",
        code="process_killed",
        retryable=True,
        ambiguous=True,
        detail=seen(finished),
    )


def decode(data: bytes, stream: str, finished: Finished) -> str:
    """Return a stream as text. Raises EffectError with the first byte that is not UTF-8."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise EffectError(
            f"the program's {stream} is not UTF-8 (byte {error.start})",
            code="not_utf8",
            detail=seen(finished),
        ) from None


def seen(finished: Finished) -> JsonObject:
    """Return what is known of a program that ended badly, for the ledger."""
    return {
        "exitCode": finished.exit_code,
        "stdout": _text(finished.stdout),
        "stderr": _text(finished.stderr),
        "truncated": finished.overflow is not None,
    }


def seen_so_far(captured: Captured) -> JsonObject:
    """Return what is known of a program that was ended in mid-flight."""
    return {
        "pid": captured.pid,
        "stdout": _text(captured.stdout),
        "stderr": _text(captured.stderr),
    }


def last_line(data: bytes) -> str:
    """Return the last line of a stream that says anything, for a message."""
    lines = [line.strip() for line in _text(data).splitlines() if line.strip()]
    return lines[-1][:500] if lines else ""


def _text(data: bytes | bytearray) -> str:
    return data.decode("utf-8", "replace")


def _signal(number: int) -> str:
    from signal import Signals

    try:
        return Signals(number).name
    except ValueError:
        return f"signal {number}"
