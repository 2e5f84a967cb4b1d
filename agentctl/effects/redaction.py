"""Taking known secret values out of text, bytes and JSON, however they are encoded.

Above: `effects.secrets`, and through the port the dispatcher. Below: `effects.encodings`, which
says in what forms a value may appear. Every occurrence of every form becomes `[REDACTED]`;
occurrences that overlap become one, so no part of either is left. A value with fewer than
`SECRET_CHARACTERS_MIN` characters is ignored, because it would take ordinary text apart.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, AnyStr, Final, Generic

from agentctl.effects.encodings import SECRET_CHARACTERS_MIN, forms_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from agentctl.jsonvalue import JsonValue

MARK: Final = "[REDACTED]"


class Redactor:
    """Knows some values, and takes them out."""

    __slots__ = ("_data_forms", "_forms")

    def __init__(self, values: Iterable[str]) -> None:
        found = {form for value in values for form in forms_of(value)}
        # The longest first only makes the order fixed: overlapping ones are merged anyway.
        self._forms = tuple(sorted(found, key=lambda one: (-len(one), one)))
        self._data_forms = tuple(one.encode("utf-8", "surrogatepass") for one in self._forms)

    def __repr__(self) -> str:
        """Tell how many forms it looks for, and not which."""
        return f"Redactor({len(self._forms)} forms)"

    def text(self, text: str) -> str:
        """Return a text without the values."""
        return _replace(text, self._forms, MARK)

    def data(self, data: bytes) -> bytes:
        """Return bytes without the values, which are looked for as UTF-8."""
        return _replace(data, self._data_forms, MARK.encode())

    def value(self, value: JsonValue) -> JsonValue:
        """Return a JSON value without the values, in keys and numbers too; itself if clean."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return self._object(value)
        if isinstance(value, list):
            items = [self.value(one) for one in value]
            return value if _same(items, value) else items
        if isinstance(value, bool) or value is None:
            return value
        # A number can be a secret too: a PIN that an output holds without quotes.
        written = repr(value)
        shown = self.text(written)
        return value if shown == written else shown

    def stream(self) -> StreamRedactor[str]:
        """Return a redactor of a text that arrives piece by piece."""
        return StreamRedactor(self._forms, MARK)

    def data_stream(self) -> StreamRedactor[bytes]:
        """Return a redactor of bytes that arrive piece by piece."""
        return StreamRedactor(self._data_forms, MARK.encode())

    def _object(self, value: dict[str, JsonValue]) -> JsonValue:
        keys = [self.text(key) for key in value]
        items = [self.value(one) for one in value.values()]
        if _same(items, list(value.values())) and keys == list(value):
            return value
        return dict(zip(keys, items, strict=True))


class StreamRedactor(Generic[AnyStr]):
    """Redacts text or bytes in pieces; the whole is the same as if it had come at once.

    At most the longest form less one character is held back, and only what may be the beginning
    of a value.
    """

    __slots__ = ("_covered", "_forms", "_held", "_mark")

    _forms: Sequence[AnyStr]
    _mark: AnyStr
    _held: AnyStr

    def __init__(self, forms: Sequence[AnyStr], mark: AnyStr) -> None:
        self._forms = forms
        self._mark = mark
        self._held = mark[:0]
        # How much of what is held belongs to an occurrence whose mark was given out already.
        self._covered = 0

    def __repr__(self) -> str:
        """Tell nothing of what it holds back."""
        return f"StreamRedactor({len(self._forms)} forms)"

    def feed(self, piece: AnyStr) -> AnyStr:
        """Take a piece in, and return what can be shown by now."""
        text = self._held + piece
        return self._show(text, _open_end(text, self._forms))

    def finish(self) -> AnyStr:
        """Return the rest, because no more will come; after that a new text may begin."""
        shown = self._show(self._held, len(self._held))
        self._covered = 0
        return shown

    def _show(self, text: AnyStr, cut: int) -> AnyStr:
        """Return the text before `cut` without the values, and hold the rest back."""
        spans = _spans(text, self._forms)
        if self._covered:
            spans = _merge([(0, self._covered), *spans])
        shown, place = text[:0], 0
        covered, self._covered = self._covered, 0
        for start, end in spans:
            if start >= cut:
                break
            shown += text[place:start]
            if not (covered and start == 0):
                shown += self._mark
            place = min(end, cut)
            self._covered = max(end - cut, 0)
        self._held = text[cut:]
        return shown + text[place:cut]


def _replace(text: AnyStr, forms: Sequence[AnyStr], mark: AnyStr) -> AnyStr:
    spans = _spans(text, forms)
    if not spans:
        return text
    parts, place = [], 0
    for start, end in spans:
        parts += [text[place:start], mark]
        place = end
    parts.append(text[place:])
    return text[:0].join(parts)


def _spans(text: AnyStr, forms: Sequence[AnyStr]) -> list[tuple[int, int]]:
    """Return where the forms occur, sorted, and merged where they overlap."""
    found = []
    for form in forms:
        start = text.find(form)
        while start >= 0:
            found.append((start, start + len(form)))
            start = text.find(form, start + 1)
    return _merge(found) if found else found


def _merge(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    spans.sort()
    merged = spans[:1]
    for start, end in spans[1:]:
        last_start, last_end = merged[-1]
        if start < last_end:
            merged[-1] = (last_start, max(last_end, end))
        else:
            merged.append((start, end))
    return merged


def _open_end(text: AnyStr, forms: Sequence[AnyStr]) -> int:
    """Return where the earliest value may have begun that is not complete yet."""
    cut = len(text)
    for form in forms:
        # Earlier than this the form would be complete, or the text is no beginning of it.
        place = max(len(text) - len(form) + 1, 0)
        first = form[:1]
        place = text.find(first, place, cut)
        while place >= 0:
            if form.startswith(text[place:]):
                cut = place
                break
            place = text.find(first, place + 1, cut)
    return cut


def _same(left: Sequence[object], right: Sequence[object]) -> bool:
    return all(one is other or one == other for one, other in zip(left, right, strict=True))


__all__ = ["MARK", "SECRET_CHARACTERS_MIN", "Redactor", "StreamRedactor"]
