"""Server-sent events, decoded piece by piece as they arrive.

Above: the transport. Pure: bytes in, events out, however the bytes were split on the way.
Source: WHATWG HTML, section 9.2 (event streams).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from attr import define, field, frozen

from agentctl.effects.models.reading import invalid
from agentctl.limits import PROVIDER_EVENT_BYTES_MAX
from agentctl.value import Value

if TYPE_CHECKING:
    from collections.abc import Iterator

_MARK = b"\xef\xbb\xbf"


@frozen(eq=False, repr=False)
class ServerEvent(Value):
    """One event; `name` is `message` where the server gave none."""

    name: str
    data: str


@define(eq=False, repr=False)
class EventDecoder:
    """Holds what is not a whole event yet, within a bound."""

    _rest: bytes = b""
    _name: str = ""
    _data: list[str] = field(factory=list)
    _held_bytes: int = 0
    _is_begun: bool = False
    _after_return: bool = False

    def feed(self, chunk: bytes) -> Iterator[ServerEvent]:
        """Take bytes, and yield every event that they complete. Raises EffectError.

        Text after the last empty line is no event: a stream that was cut does not count.
        """
        if self._after_return and chunk:
            # The line ended with the return; a newline that follows belongs to it.
            chunk = chunk.removeprefix(b"\n")
            self._after_return = False
        buffer = self._rest + chunk
        if not self._is_begun:
            if len(buffer) < len(_MARK) and _MARK.startswith(buffer):
                self._rest = buffer
                return
            buffer = buffer.removeprefix(_MARK)
            self._is_begun = True
        *lines, self._rest = _lines(buffer)
        self._after_return = buffer.endswith(b"\r")
        for line in lines:
            yield from self._line(line)
        if self._held_bytes + len(self._rest) > PROVIDER_EVENT_BYTES_MAX:
            raise invalid(f"an event has more than {PROVIDER_EVENT_BYTES_MAX:,} bytes")

    def _line(self, line: bytes) -> Iterator[ServerEvent]:
        if not line:
            if self._data:
                yield ServerEvent(self._name or "message", "\n".join(self._data))
            self._name, self._data, self._held_bytes = "", [], 0
            return
        field_name, _, value = line.partition(b":")
        text = value.removeprefix(b" ").decode("utf-8", "replace")
        if field_name == b"data":
            self._data.append(text)
            self._held_bytes += len(value) + 1
        elif field_name == b"event":
            self._name = text


def _lines(buffer: bytes) -> list[bytes]:
    """Split at a return, a newline, or both; the last part is what has no end yet."""
    return buffer.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
