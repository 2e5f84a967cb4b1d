"""Fixtures of the store's tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agentctl.store import open_store
from agentctl.testing import ManualClock

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from agentctl.store.sqlite import SqliteStore


@pytest.fixture
def clock() -> ManualClock:
    """A clock that moves when told."""
    return ManualClock()


@pytest.fixture
def store(tmp_path: Path, clock: ManualClock) -> Iterator[SqliteStore]:
    """A store on a fresh file."""
    made = open_store(tmp_path / "state.db", clock=clock)
    yield made
    made.close()
