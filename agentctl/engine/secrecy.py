"""Keeping secrets out of the records: what an executor gives is redacted before it is stored.

Above: the dispatcher and the probes. Below: `ports.SecretVault`. Nothing is looked at as long as
no secret was resolved in this run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agentctl.errors import EffectError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from agentctl.engine.ports import Redaction, SecretVault, TextRedaction
    from agentctl.errors import AgentctlError
    from agentctl.jsonvalue import JsonValue

    Emit = Callable[[str, JsonValue], Awaitable[None]]
    Channel = tuple[str, str]

# In these members a progress record holds the next piece of a longer text.
PIECES: Final = ("text", "delta", "arguments")


def redact_value(vault: SecretVault, value: JsonValue) -> JsonValue:
    """Return a result as it may be stored."""
    redaction = vault.redaction
    return value if redaction is None else redaction.value(value)


def redact_error(vault: SecretVault, error: AgentctlError) -> None:
    """Make an error's words fit to be stored; it stays the same error."""
    redaction = vault.redaction
    if redaction is None:
        return
    error.message = redaction.text(error.message)
    error.args = (error.message,)
    if error.help is not None:
        error.help = redaction.text(error.help)
    if isinstance(error, EffectError):
        error.detail = redaction.value(error.detail)


class Progress:
    """The progress records of one dispatch, redacted also where a value is split over several."""

    __slots__ = ("_emit", "_open", "_redaction", "_vault")

    def __init__(self, emit: Emit, vault: SecretVault) -> None:
        self._emit = emit
        self._vault = vault
        self._redaction: Redaction | None = None
        self._open: dict[Channel, TextRedaction] = {}

    async def emit(self, event_type: str, payload: JsonValue) -> None:
        """Persist one record, without what may be the beginning of a value."""
        redaction = self._vault.redaction
        if redaction is None:
            await self._emit(event_type, payload)
            return
        if redaction is not self._redaction:
            # Another secret became known, so the pieces are looked at anew.
            await self.finish()
            self._redaction = redaction
        pieces = _pieces(payload)
        if not pieces or not isinstance(payload, dict):
            await self.finish()
            await self._emit(event_type, redaction.value(payload))
            return
        rest = {key: value for key, value in payload.items() if key not in pieces}
        shown = {key: self._feed((event_type, key), text) for key, text in pieces.items()}
        if any(shown.values()) or not any(pieces.values()):
            clean = redaction.value(rest)
            assert isinstance(clean, dict)
            await self._emit(event_type, {**clean, **shown})

    async def finish(self) -> None:
        """Persist what was held back, because it was not the beginning of a value."""
        held, self._open = self._open, {}
        for (event_type, key), stream in held.items():
            rest = stream.finish()
            if rest:
                await self._emit(event_type, {key: rest})

    def _feed(self, channel: Channel, text: str) -> str:
        assert self._redaction is not None
        if channel not in self._open:
            self._open[channel] = self._redaction.stream()
        return self._open[channel].feed(text)


def _pieces(payload: JsonValue) -> dict[str, str]:
    if not isinstance(payload, dict):
        return {}
    found: dict[str, str] = {}
    for key in PIECES:
        value = payload.get(key)
        if isinstance(value, str):
            found[key] = value
    return found
