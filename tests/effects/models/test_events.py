"""Server-sent events and the folds: how the bytes were split makes no difference."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentctl.effects.models.adapter import TextProgress
from agentctl.effects.models.contract import ModelRequest
from agentctl.effects.models.reading import parse
from agentctl.effects.models.sse import EventDecoder, ServerEvent
from agentctl.errors import EffectError
from agentctl.limits import PROVIDER_EVENT_BYTES_MAX, STREAM_EVENTS_PER_ATTEMPT_MAX
from tests.effects.models.asking import ADAPTERS, LOOK, request
from tests.effects.models.dialects import DIALECTS

WORDS = st.text(st.characters(exclude_characters="\r\n", exclude_categories=["Cs"]))
EVENTS = st.lists(
    st.tuples(st.sampled_from(["", "ping", "delta"]), st.lists(WORDS, min_size=1, max_size=3))
)
ENDS = st.sampled_from(["\n", "\r", "\r\n"])
CUTS = st.lists(st.integers(0, 400))
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
)
REQUEST = ModelRequest.from_json(request(tools=["look"]), {"look": LOOK})


def split(data: bytes, cuts: list[int]) -> list[bytes]:
    """Return bytes in pieces."""
    places = sorted({0, len(data), *(one for one in cuts if one < len(data))})
    return [data[a:b] for a, b in pairwise(places)]


def decoded(pieces: list[bytes]) -> list[ServerEvent]:
    """Return the events of a stream."""
    decoder = EventDecoder()
    return [event for piece in pieces for event in decoder.feed(piece)]


@given(EVENTS, ENDS, CUTS, st.booleans())
def test_events_come_out_as_they_went_in(
    events: list[tuple[str, list[str]]], end: str, cuts: list[int], marked: bool
) -> None:
    text = "\ufeff" if marked else ""
    for name, lines in events:
        text += f"event: {name}{end}" if name else f": a comment{end}"
        text += "".join(f"data: {line}{end}" for line in lines) + end
    expected = [ServerEvent(name or "message", "\n".join(lines)) for name, lines in events]
    assert decoded(split(text.encode(), cuts)) == expected


@given(st.binary(max_size=300), CUTS)
def test_any_bytes_decode_the_same_however_they_were_split(data: bytes, cuts: list[int]) -> None:
    assert decoded(split(data, cuts)) == decoded([data])


def test_an_event_without_its_empty_line_is_none() -> None:
    assert decoded([b"data: one\n\ndata: two\n"]) == [ServerEvent("message", "one")]


def test_an_event_without_an_end_is_bounded() -> None:
    with pytest.raises(EffectError, match="bytes"):
        decoded([b"data: " + b"x" * PROVIDER_EVENT_BYTES_MAX] * 2)


@pytest.mark.parametrize("kind", DIALECTS)
@given(text=st.text(st.characters(exclude_categories=["Cs"])), cuts=CUTS)
def test_a_folded_stream_is_the_answer_without_streaming(
    kind: str, text: str, cuts: list[int]
) -> None:
    whole = DIALECTS[kind].text(text)
    events = DIALECTS[kind].stream(whole)
    data = "".join(
        f"data: {one if isinstance(one, str) else json.dumps(one)}\n\n" for one in events
    )
    adapter = ADAPTERS[kind]
    fold = adapter.fold()
    told = [one for event in decoded(split(data.encode(), cuts)) for one in fold.feed(event)]
    assert fold.is_complete
    assert adapter.result(fold.body(), REQUEST) == adapter.result(whole, REQUEST)
    assert "".join(str(one.payload["text"]) for one in told) == text


@pytest.mark.parametrize("kind", DIALECTS)
@given(body=st.dictionaries(st.text(), JSON))
def test_any_object_is_an_answer_or_an_explained_error(kind: str, body: dict[str, Any]) -> None:
    named = {**DIALECTS[kind].text("x"), **body}
    for one in (body, named):
        try:
            ADAPTERS[kind].result(one, REQUEST)
        except EffectError as error:
            assert error.kind
            assert not error.ambiguous


@pytest.mark.parametrize("kind", DIALECTS)
@given(data=st.data())
def test_an_answer_with_one_part_replaced_is_an_answer_or_an_explained_error(
    kind: str, data: st.DataObject
) -> None:
    whole = json.loads(json.dumps(DIALECTS[kind].calls(["c1"])))
    node = whole
    while True:
        keys = list(node) if isinstance(node, dict) else list(range(len(node)))
        key = data.draw(st.sampled_from(keys))
        if isinstance(node[key], (dict, list)) and node[key] and data.draw(st.booleans()):
            node = node[key]
        else:
            node[key] = data.draw(JSON)
            break
    try:
        ADAPTERS[kind].result(whole, REQUEST)
    except EffectError as error:
        assert not error.ambiguous


@pytest.mark.parametrize("kind", DIALECTS)
@given(body=JSON, name=st.sampled_from(["message", "error", "response.completed"]))
def test_any_event_of_a_stream_is_taken_or_refused(kind: str, body: object, name: str) -> None:
    fold = ADAPTERS[kind].fold()
    try:
        list(fold.feed(ServerEvent(name, json.dumps(body))))
    except EffectError as error:
        assert not error.ambiguous


def test_a_long_text_makes_a_bounded_number_of_records() -> None:
    progress = TextProgress()
    told = [one for _ in range(1 << 20) for one in progress.add("word")]
    assert len(told) < STREAM_EVENTS_PER_ATTEMPT_MAX // 2


@pytest.mark.parametrize("text", ['"\\ud800"', '{"a": ["\\udfff"]}'])
def test_half_of_a_pair_is_refused(text: str) -> None:
    with pytest.raises(EffectError, match="surrogate"):
        parse(text)
