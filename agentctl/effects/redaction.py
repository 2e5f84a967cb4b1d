"""Taking known secret values out of text, bytes and JSON, however they are encoded.

Above: `effects.secrets`, and through the port the dispatcher. Below: `effects.encodings`, which
says in what forms a value may appear. Every occurrence of every form becomes `[REDACTED]`;
occurrences that overlap become one, so no part of either is left. So does the beginning of a
value at the end of a text, because output that was cut off may stop within one.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, AnyStr, Final, Generic

from attr import field, frozen

from agentctl.effects.encodings import forms_of, line_breaks
from agentctl.value import Value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from agentctl.jsonvalue import JsonValue

    Span = tuple[int, int]

REDACTED: Final = "[REDACTED]"
# So much of a value's beginning, at the end of a text, already says too much.
_TAIL_CHARACTERS_MIN: Final = 6


@frozen(eq=False, repr=False)
class _Forms(Value, Generic[AnyStr]):
    """What is looked for: forms that stand in one piece, and forms that may be wrapped.

    The longest come first. `probes` are those of either kind that hold no other form: where none
    of them occurs, nothing does.
    """

    solid: Sequence[AnyStr]
    wrapped: Sequence[AnyStr]
    mark: AnyStr
    half_break: AnyStr
    breaks: Sequence[AnyStr]
    solid_probes: Sequence[AnyStr] = field(init=False)
    wrapped_probes: Sequence[AnyStr] = field(init=False)

    def __attrs_post_init__(self) -> None:
        """Choose the probes once, because most texts hold no secret."""
        object.__setattr__(self, "solid_probes", _probes(self.solid))
        object.__setattr__(self, "wrapped_probes", _probes(self.wrapped))


class Redactor:
    """Knows some values, and takes them out."""

    __slots__ = ("_data", "_text")

    def __init__(self, values: Iterable[str]) -> None:
        solid, wrapped = forms_of(values)
        self._text: _Forms[str] = _Forms(
            _ordered(solid), _ordered(wrapped), REDACTED, "\\", "\r\n"
        )
        self._data: _Forms[bytes] = _Forms(
            [_encoded(form) for form in self._text.solid],
            [_encoded(form) for form in self._text.wrapped],
            REDACTED.encode(),
            b"\\",
            (b"\r", b"\n"),
        )

    def __repr__(self) -> str:
        """Tell how many forms it looks for, and not which."""
        return f"Redactor({len(self._text.solid) + len(self._text.wrapped)} forms)"

    def text(self, text: str) -> str:
        """Return a text without the values."""
        return _replace(text, self._text)

    def data(self, data: bytes) -> bytes:
        """Return bytes without the values, which are looked for as UTF-8."""
        return _replace(data, self._data)

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
        return StreamRedactor(self._text)

    def data_stream(self) -> StreamRedactor[bytes]:
        """Return a redactor of bytes that arrive piece by piece."""
        return StreamRedactor(self._data)

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

    __slots__ = ("_covered", "_forms", "_held")

    _forms: _Forms[AnyStr]
    _held: AnyStr

    def __init__(self, forms: _Forms[AnyStr]) -> None:
        self._forms = forms
        self._held = forms.mark[:0]
        # How much of what is held belongs to an occurrence whose mark was given out already.
        self._covered = 0

    def __repr__(self) -> str:
        """Tell nothing of what it holds back."""
        return "StreamRedactor()"

    def feed(self, piece: AnyStr) -> AnyStr:
        """Take a piece in, and return what can be shown by now."""
        text = self._held + piece
        return self._show(text, _open_end(text, self._forms, 1), _spans(text, self._forms))

    def finish(self) -> AnyStr:
        """Return the rest, because no more will come; after that a new text may begin."""
        text = self._held
        shown = self._show(text, len(text), _all_spans(text, self._forms))
        self._covered = 0
        return shown

    def _show(self, text: AnyStr, cut: int, spans: list[Span]) -> AnyStr:
        """Return the text before `cut` without the spans, and hold the rest back."""
        covered, self._covered = self._covered, 0
        if covered:
            spans = _merge([(0, covered), *spans])
        shown, place = text[:0], 0
        for start, end in spans:
            if start >= cut:
                break
            shown += text[place:start]
            if not (covered and start == 0):
                shown += self._forms.mark
            place = min(end, cut)
            self._covered = max(end - cut, 0)
        if covered and not place:
            # Nothing may be shown yet, so what was covered still is.
            self._covered = covered
        self._held = text[cut:]
        return shown + text[place:cut]


def _ordered(forms: Iterable[str]) -> list[str]:
    return sorted(forms, key=lambda form: (-len(form), form))


def _probes(forms: Sequence[AnyStr]) -> list[AnyStr]:
    return [one for one in forms if not any(other in one for other in forms if other != one)]


def _encoded(form: str) -> bytes:
    return form.encode("utf-8", "surrogatepass")


def _replace(text: AnyStr, forms: _Forms[AnyStr]) -> AnyStr:
    spans = _all_spans(text, forms)
    if not spans:
        return text
    parts, place = [], 0
    for start, end in spans:
        parts += [text[place:start], forms.mark]
        place = end
    parts.append(text[place:])
    return text[:0].join(parts)


def _all_spans(text: AnyStr, forms: _Forms[AnyStr]) -> list[Span]:
    """Return what a finished text must not show, sorted and merged."""
    spans: list[Span] = _spans(text, forms)
    cut = _open_end(text, forms, _TAIL_CHARACTERS_MIN)
    return spans if cut == len(text) else _merge([*spans, (cut, len(text))])


def _spans(text: AnyStr, forms: _Forms[AnyStr]) -> list[Span]:
    """Return where the forms occur, sorted, and merged where they overlap."""
    found: list[Span] = []
    if any(probe in text for probe in forms.solid_probes):
        found = _occurrences(text, forms.solid)
    quick = _without_breaks(text, forms)
    if any(probe in quick for probe in forms.wrapped_probes):
        plain, places = _unwrapped(text)
        found += [
            (places(start), places(end - 1) + 1)
            for start, end in _occurrences(plain, forms.wrapped)
        ]
    return _merge(found) if found else found


def _occurrences(text: AnyStr, forms: Sequence[AnyStr]) -> list[Span]:
    found = []
    for form in forms:
        start = text.find(form)
        while start >= 0:
            found.append((start, start + len(form)))
            start = text.find(form, start + 1)
    return found


def _without_breaks(text: AnyStr, forms: _Forms[AnyStr]) -> AnyStr:
    """Return what `_unwrapped` does, without the places, which take much longer."""
    if forms.half_break in text:
        return line_breaks(text).sub(text[:0], text)
    for one in forms.breaks:
        text = text.replace(one, text[:0])
    return text


def _unwrapped(text: AnyStr) -> tuple[AnyStr, Callable[[int], int]]:
    """Return a text without its line breaks, and where each of its characters was."""
    breaks = [one.span() for one in line_breaks(text).finditer(text)]
    if not breaks:
        return text, int
    parts, borders, gaps, place = [], [], [], 0
    gone = 0
    for start, end in breaks:
        parts.append(text[place:start])
        borders.append(start - gone)
        gone += end - start
        gaps.append(gone)
        place = end
    parts.append(text[place:])

    def original(index: int) -> int:
        before = bisect_right(borders, index)
        return index + (gaps[before - 1] if before else 0)

    return text[:0].join(parts), original


def _merge(spans: list[Span]) -> list[Span]:
    spans.sort()
    merged = spans[:1]
    for start, end in spans[1:]:
        last_start, last_end = merged[-1]
        if start < last_end:
            merged[-1] = (last_start, max(last_end, end))
        else:
            merged.append((start, end))
    return merged


def _open_end(text: AnyStr, forms: _Forms[AnyStr], least: int) -> int:
    """Return where the earliest value may have begun that is not complete yet.

    It has at least `least` characters by now; without one, it is the end of the text.
    """
    cut = _beginning(text, forms.solid, least)
    # The first half of an escaped line break is no character of a value.
    tail = _tail(text.removesuffix(forms.half_break), forms)
    plain, places = _unwrapped(tail)
    begun = _beginning(plain, forms.wrapped, least)
    if begun == len(plain):
        return cut
    return min(cut, len(text) - len(tail) - text.endswith(forms.half_break) + places(begun))


def _tail(text: AnyStr, forms: _Forms[AnyStr]) -> AnyStr:
    """Return an end of a text that holds the longest wrapped form, not counting line breaks."""
    longest = len(forms.wrapped[0]) if forms.wrapped else 0
    size = 2 * longest
    while size < len(text) and len(_without_breaks(text[-size:], forms)) < longest:
        size *= 2
    return text[-size:] if size else text[:0]


def _beginning(text: AnyStr, forms: Sequence[AnyStr], least: int) -> int:
    cut = len(text)
    for form in forms:
        # Earlier than this the form would be complete.
        place = max(len(text) - len(form) + 1, 0)
        if text.find(form[:least], place) < 0:
            continue
        last = max(min(cut, len(text) - least + 1), 0)
        place = text.find(form[:1], place, last)
        while place >= 0:
            if form.startswith(text[place:]):
                cut = place
                break
            place = text.find(form[:1], place + 1, last)
    return cut


def _same(left: Sequence[object], right: Sequence[object]) -> bool:
    return all(one is other or one == other for one, other in zip(left, right, strict=True))
