"""Fixtures of the engine's tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.engine.harness import Bench

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    """An engine on a fresh file."""
    made = Bench(tmp_path)
    yield made
    made.close()
