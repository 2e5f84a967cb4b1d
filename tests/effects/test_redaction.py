"""No form of a known value survives redaction, however it is encoded and however it is split."""

from __future__ import annotations

import base64
import html
import json
import re
import shlex
import urllib.parse
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentctl.effects.redaction import REDACTED, Redactor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from agentctl.jsonvalue import JsonValue

# A value that is part of the mark itself cannot be told from it.
VALUES = st.text(
    st.characters(codec="utf-8", exclude_characters="\0[]REDACT"), min_size=4, max_size=40
)
# Little variety makes repetitions, overlaps and near misses.
NARROW = st.text("ab", min_size=4, max_size=8)
NOISE = st.text(st.characters(codec="utf-8"), max_size=20)


def _base64(value: str, before: bytes, after: bytes) -> str:
    return base64.b64encode(before + value.encode() + after).decode()


ENCODERS: dict[str, Callable[[str], str]] = {
    "plain": str,
    "base64": lambda value: _base64(value, b"", b""),
    "base64 after one byte": lambda value: _base64(value, b"u", b""),
    "base64 after two bytes": lambda value: _base64(value, b"u:", b""),
    "base64 between bytes": lambda value: _base64(value, b"user:", b"\n"),
    "base64 for URLs": lambda value: base64.urlsafe_b64encode(b"id:" + value.encode()).decode(),
    "URL path": urllib.parse.quote,
    "URL component": lambda value: urllib.parse.quote(value, safe=""),
    "URL form": urllib.parse.quote_plus,
    "JSON": lambda value: json.dumps(value)[1:-1],
    "JSON as UTF-8": lambda value: json.dumps(value, ensure_ascii=False)[1:-1],
    "JSON within JSON": lambda value: json.dumps(json.dumps(value)),
    "hex": lambda value: value.encode().hex(),
    "hex in capitals": lambda value: value.encode().hex().upper(),
    "Python": lambda value: repr(value)[1:-1],
    "Python bytes": lambda value: repr(value.encode())[2:-1],
    "HTML": html.escape,
    "shell": shlex.quote,
}


def split_at(text: str, places: list[int]) -> list[str]:
    """Return a text in pieces."""
    edges = sorted({0, len(text), *(place % (len(text) + 1) for place in places)})
    return [text[start:end] for start, end in pairwise(edges)]


def decoded(text: str) -> Iterator[bytes]:
    """Yield what each run of base64 characters could stand for, whichever one it begins at."""
    for run in re.findall("[A-Za-z0-9+/]{4,}", text.replace("-", "+").replace("_", "/")):
        for start in range(4):
            whole = run[start:]
            whole = whole[:-1] if len(whole) % 4 == 1 else whole
            yield base64.b64decode(whole + "=" * (-len(whole) % 4))


@pytest.mark.parametrize("encoding", sorted(ENCODERS))
@given(value=VALUES, before=NOISE, after=NOISE, places=st.lists(st.integers(0, 400), max_size=6))
def test_no_encoded_form_survives_at_any_split(
    encoding: str, value: str, before: str, after: str, places: list[int]
) -> None:
    encoded = ENCODERS[encoding](value)
    redactor = Redactor([value])
    text = before + encoded + after
    stream = redactor.stream()
    shown = "".join([stream.feed(piece) for piece in split_at(text, places)]) + stream.finish()
    assert REDACTED in shown
    assert shown == redactor.text(text)
    assert redactor.data(text.encode()) == shown.encode()
    visible = shown.replace(REDACTED, "\0")
    assert encoded not in visible
    assert value.encode() not in b"\0".join(decoded(visible))


def cut_off(values: list[str], text: str) -> set[int]:
    """Return the places at the end where six characters or more may begin a value."""
    for start in range(max(len(text) - 5, 0)):
        if any(value.startswith(text[start:]) and value != text[start:] for value in values):
            return set(range(start, len(text)))
    return set()


@given(
    values=st.lists(NARROW, min_size=1, max_size=4),
    text=st.text("abc", max_size=80),
    places=st.lists(st.integers(0, 80), max_size=8),
)
def test_overlapping_and_nested_values_leave_no_part_behind(
    values: list[str], text: str, places: list[int]
) -> None:
    redactor = Redactor(values)
    whole = redactor.text(text)
    assert not any(value in whole for value in values)
    # Every character that is not part of an occurrence stays, and none that is.
    covered = {
        index + step
        for value in values
        for index in range(len(text))
        if text.startswith(value, index)
        for step in range(len(value))
    }
    covered |= cut_off(values, text)
    kept = "".join(one for place, one in enumerate(text) if place not in covered)
    assert whole.replace(REDACTED, "") == kept
    stream = redactor.stream()
    assert (
        "".join([stream.feed(piece) for piece in split_at(text, places)]) + stream.finish()
        == whole
    )


@given(value=NARROW, text=st.text("ab", max_size=200))
def test_a_stream_holds_back_less_than_the_longest_form(value: str, text: str) -> None:
    redactor = Redactor([value])
    stream = redactor.data_stream()
    longest = max(len(form) for form in (*redactor._data.solid, *redactor._data.wrapped))
    for place in range(len(text)):
        stream.feed(text[place : place + 1].encode())
        assert len(stream._held) < longest


def test_a_longer_value_wins_over_the_one_it_begins_with() -> None:
    redactor = Redactor(["abcd", "abcdefgh"])
    assert redactor.text("x abcdefgh y abcd z") == f"x {REDACTED} y {REDACTED} z"
    stream = redactor.stream()
    assert stream.feed("x abcd") == "x "
    assert stream.feed("efgh y") == f"{REDACTED} y"


def test_json_is_redacted_in_keys_texts_and_numbers_and_is_itself_when_clean() -> None:
    redactor = Redactor(["tok-1234", "987654"])
    clean: JsonValue = {"a": [1, True, None, "text"], "b": {"c": 1.5}}
    assert redactor.value(clean) is clean
    leaky: JsonValue = {"tok-1234": [987654, {"deep": "it is tok-1234!"}], "n": 1987654.5}
    assert redactor.value(leaky) == {
        REDACTED: [REDACTED, {"deep": f"it is {REDACTED}!"}],
        "n": f"1{REDACTED}.5",
    }


def test_a_value_of_three_characters_is_left_alone() -> None:
    assert Redactor(["abc"]).text("abc YWJj 616263") == "abc YWJj 616263"
    assert Redactor(["abcd"]).text("abcd") == REDACTED


def test_no_text_form_of_a_redactor_tells_a_value() -> None:
    redactor = Redactor(["hunter2-hunter2"])
    stream = redactor.stream()
    stream.feed("hunter2")
    assert "hunter2" not in f"{redactor!r} {redactor} {stream!r} {stream}"


@pytest.mark.parametrize("line_break", ["\n", "\r\n", "\\n"])
@given(value=VALUES, width=st.integers(4, 12), places=st.lists(st.integers(0, 400), max_size=6))
def test_encodings_that_programs_wrap_are_found_over_their_line_breaks(
    line_break: str, value: str, width: int, places: list[int]
) -> None:
    redactor = Redactor([value])
    for encoded in (_base64(value, b"user:", b"\n"), value.encode().hex()):
        lines = [encoded[at : at + width] for at in range(0, len(encoded), width)]
        text = f"<{line_break.join(lines)}>"
        stream = redactor.stream()
        shown = "".join([stream.feed(piece) for piece in split_at(text, places)]) + stream.finish()
        assert shown == redactor.text(text)
        visible = shown.replace(line_break, "").replace(REDACTED, "\0")
        assert value.encode() not in b"\0".join(decoded(visible))
        assert value.encode().hex() not in visible


def test_the_beginning_of_a_value_is_hidden_where_output_was_cut_off() -> None:
    redactor = Redactor(["correct-horse-battery"])
    assert redactor.text("token=correct-horse-b") == f"token={REDACTED}"
    assert redactor.text("token=corr") == "token=corr"
    stream = redactor.stream()
    assert stream.feed("token=correct-") == "token="
    assert stream.finish() == REDACTED


def test_every_long_line_of_a_value_with_several_is_hidden() -> None:
    key = "-----BEGIN KEY-----\nMIIEvQIBADANBg\nkqhkiG9w0B\nxyz\n-----END KEY-----"
    shown = Redactor([key]).text("line 2 is MIIEvQIBADANBg\r\nline 3 is kqhkiG9w0B")
    assert shown == f"line 2 is {REDACTED}\r\nline 3 is {REDACTED}"
