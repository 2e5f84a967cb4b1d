"""Fixtures of the tests over the wire."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.engine.harness import Bench


@pytest.fixture
def bench(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> Bench:
    """An engine on a fresh file, with a key for every provider in the environment."""
    for name in ("OPENAI", "AZURE_OPENAI", "ANTHROPIC", "GEMINI"):
        monkeypatch.setenv(f"{name}_API_KEY", "k-very-secret")
    return bench
