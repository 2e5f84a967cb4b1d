"""Drawings: golden texts for every machine, and what they say about live states."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args
from xml.etree import ElementTree

import pytest

from agentctl.machines.compiled import EFFECT, RUN, TABLES, TASK
from agentctl.machines.draw import DrawingFormat, dot, draw, markdown, merged_edges, mermaid, svg

if TYPE_CHECKING:
    from agentctl.machines.table import Table

    AnyTable = Table[Any, Any]

GOLDEN = Path(__file__).parent / "golden"
ENDINGS: dict[DrawingFormat, str] = {"mermaid": "mmd", "dot": "dot", "svg": "svg", "md": "md"}
EVERY = pytest.mark.parametrize("table", TABLES.values(), ids=list(TABLES))
LIVE = {"running": "2 tasks: a, b", "retry_scheduled": 'x|"<&>;#\\'}


@EVERY
@pytest.mark.parametrize("form", get_args(DrawingFormat))
def test_a_drawing_is_the_golden_one(table: AnyTable, form: DrawingFormat) -> None:
    _compare(f"{table.name}.{ENDINGS[form]}", draw(table, form))


@pytest.mark.parametrize("form", get_args(DrawingFormat))
def test_a_drawing_with_live_states_is_the_golden_one(form: DrawingFormat) -> None:
    _compare(f"task-live.{ENDINGS[form]}", draw(TASK, form, LIVE))


@EVERY
def test_an_svg_is_well_formed_and_shows_every_state_and_event(table: AnyTable) -> None:
    root = ElementTree.fromstring(svg(table))
    names = [text.text for text in root.iter("{http://www.w3.org/2000/svg}text")]
    shown = set(names)
    assert shown == {*table.states, *table.events}
    assert len(names) == len(table.states) + len(table.edges)


@EVERY
def test_no_two_texts_of_an_svg_touch_and_all_lie_on_the_page(table: AnyTable) -> None:
    root = ElementTree.fromstring(svg(table))
    boxes = [
        [float(rect.get(key, "0")) for key in ("x", "y", "width", "height")]
        for rect in root.iter("{http://www.w3.org/2000/svg}rect")
        if rect.get("class") != "page"
    ]
    width, height = float(root.get("width", "0")), float(root.get("height", "0"))
    for place, (x, y, w, h) in enumerate(boxes):
        assert x >= -1
        assert y >= -1
        assert x + w <= width
        assert y + h <= height
        for other_x, other_y, other_w, other_h in boxes[place + 1 :]:
            apart = x + w <= other_x or other_x + other_w <= x
            assert apart or y + h <= other_y or other_y + other_h <= y


def test_an_svg_escapes_what_a_label_brings() -> None:
    root = ElementTree.fromstring(svg(TASK, LIVE))
    texts = [text.text for text in root.iter("{http://www.w3.org/2000/svg}text")]
    assert 'x|"<&>;#\\' in texts
    marked = [r for r in root.iter() if r.get("class", "").endswith("live")]
    assert len(marked) == 2


def test_moves_between_the_same_states_share_one_arrow() -> None:
    arrows = merged_edges(EFFECT)
    assert arrows["started", "uncertain"] == ("time_out", "disconnect", "interrupt", "lose")
    assert "started --> uncertain : time_out, disconnect, interrupt, lose" in mermaid(EFFECT)
    assert mermaid(EFFECT).count("started --> uncertain") == 1


def test_live_states_are_marked_in_every_format() -> None:
    live = {"paused": "1 run"}
    assert "class paused live" in mermaid(RUN, live)
    assert "paused : paused 1 run" in mermaid(RUN, live)
    assert 'label="paused\\n1 run"' in dot(RUN, live)
    assert "**`paused`** 1 run" in markdown(RUN, live)


def test_a_hostile_label_cannot_leave_its_line_in_mermaid_or_dot() -> None:
    label = 'a\n    evil --> [*]; %% "x" \\'
    assert "evil -->" not in mermaid(RUN, {"paused": label}).replace("evil -- ", "")
    assert len(mermaid(RUN, {"paused": label}).splitlines()) == len(
        mermaid(RUN, {"paused": "a"}).splitlines()
    )
    assert '\\"x\\" \\\\"' in dot(RUN, {"paused": label})


def _compare(name: str, text: str) -> None:
    path = GOLDEN / name
    if os.environ.get("AGENTCTL_REWRITE") == "1":
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == text, "set AGENTCTL_REWRITE=1 to accept the change"
