"""Keeping secrets out of the records: what an executor gives is redacted before it is stored.

Above: the dispatcher and the probes. Below: `ports.SecretKeeper`, which looks at nothing as long
as no secret was resolved in this run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agentctl.errors import EffectError

if TYPE_CHECKING:
    from agentctl.engine.ports import Emit, SecretKeeper, TextRedaction
    from agentctl.errors import AgentctlError
    from agentctl.jsonvalue import JsonValue

    Channel = tuple[str, str]

# In these members a progress record holds the next piece of a longer text.
PIECES: Final = ("text", "delta", "arguments")


def redact_error(secrets: SecretKeeper, error: AgentctlError) -> None:
    """Make an error's words fit to be stored; it stays the same error."""
    error.message = secrets.redact_text(error.message)
    error.args = (error.message,)
    if error.help is not None:
        error.help = secrets.redact_text(error.help)
    if isinstance(error, EffectError):
        error.detail = secrets.redact(error.detail)


class Progress:
    """The progress records of one dispatch, redacted also where a value is split over several."""

    __slots__ = ("_emit", "_known", "_open", "_place", "_secrets")

    def __init__(self, emit: Emit, secrets: SecretKeeper) -> None:
        self._emit = emit
        self._secrets = secrets
        self._known = 0
        self._place: int | None = None
        self._open: dict[Channel, TextRedaction] = {}

    async def emit(
        self, event_type: str, payload: JsonValue, provider_sequence: int | None = None
    ) -> None:
        """Persist one record, without what may be the beginning of a value."""
        known = self._secrets.known
        if not known:
            await self._emit(event_type, payload, provider_sequence)
            return
        if known != self._known:
            # Another secret became known, so the pieces are looked at anew.
            await self.finish()
            self._known = known
        pieces = _pieces(payload)
        if not pieces or not isinstance(payload, dict):
            await self.finish()
            await self._emit(event_type, self._secrets.redact(payload), provider_sequence)
            return
        self._place = provider_sequence
        rest = {key: value for key, value in payload.items() if key not in pieces}
        shown = {key: self._feed((event_type, key), text) for key, text in pieces.items()}
        if any(shown.values()) or not any(pieces.values()):
            clean = self._secrets.redact(rest)
            assert isinstance(clean, dict)
            await self._emit(event_type, {**clean, **shown}, provider_sequence)

    async def finish(self) -> None:
        """Persist what was held back, because it was not the beginning of a value."""
        held, self._open = self._open, {}
        for (event_type, key), stream in held.items():
            rest = stream.finish()
            if rest:
                await self._emit(event_type, {key: rest}, self._place)

    def _feed(self, channel: Channel, text: str) -> str:
        if channel not in self._open:
            self._open[channel] = self._secrets.stream()
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
