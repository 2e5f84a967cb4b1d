"""Semantic versions and the ranges that packs ask for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentctl.engine.versions import Version, in_range, is_range, parse_version


def version(text: str) -> Version:
    found = parse_version(text)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("text", "inside", "outside"),
    [
        ("^1.0", ["1.0.0", "1.9.9"], ["0.9.9", "2.0.0"]),
        ("^1.2.3", ["1.2.3", "1.3.0"], ["1.2.2", "2.0.0"]),
        ("^0.2", ["0.2.0", "0.2.9"], ["0.3.0", "0.1.9"]),
        ("^0.0.3", ["0.0.3"], ["0.0.4", "0.0.2"]),
        ("^0", ["0.0.0", "0.9.0"], ["1.0.0"]),
        ("~1.2", ["1.2.0", "1.2.9"], ["1.3.0"]),
        ("~1", ["1.9.0"], ["2.0.0"]),
        (">=0.3.0, <1.0.0", ["0.3.0", "0.99.0"], ["0.2.9", "1.0.0"]),
        (">1.0.0,<=1.2.0", ["1.0.1", "1.2.0"], ["1.0.0", "1.2.1"]),
        ("1.0.0", ["1.0.0"], ["1.0.1"]),
        ("=1.2", ["1.2.0", "1.2.7"], ["1.3.0"]),
        ("*", ["0.0.0", "7.1.2"], ["1.0.0-rc.1"]),
        (">=1.0.0-rc.1", ["1.0.0-rc.1", "1.0.0-rc.2", "1.0.0"], ["1.0.0-beta"]),
    ],
)
def test_a_range_holds_what_it_says(text: str, inside: list[str], outside: list[str]) -> None:
    assert is_range(text)
    assert all(in_range(version(one), text) for one in inside)
    assert not any(in_range(version(one), text) for one in outside)


@pytest.mark.parametrize("text", ["", "latest", "1.x", "^", ">=1.0 <2.0", "1.0.0.0", ",", "^1,"])
def test_what_is_no_range_holds_nothing(text: str) -> None:
    assert not is_range(text)
    assert not in_range(version("1.0.0"), text)


@pytest.mark.parametrize("text", ["1", "1.0", "v1.0.0", "01.0.0", "1.0.0-", "1.0.0 ", "１.0.0"])
def test_what_is_no_version_is_refused(text: str) -> None:
    assert parse_version(text) is None


def test_a_release_comes_after_its_pre_releases() -> None:
    ordered = ["1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-alpha.beta", "1.0.0-2b", "1.0.0"]
    made = [version(one) for one in ordered]
    assert max(made) == made[-1]
    assert version("1.0.0-2") < version("1.0.0-10") < version("1.0.0-a") < version("1.0.0")


@given(st.text(max_size=30))
def test_no_text_makes_the_parsers_raise(text: str) -> None:
    parse_version(text)
    is_range(text)
    in_range(Version(1, 0, 0), text)
