"""How property tests draw their examples, and the engine that most tests begin with."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from tests.engine.harness import Bench

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# No deadline, because a loaded machine is no fault of the code. Where a change is judged, the
# examples are the same at every attempt; elsewhere each run tries new ones.
settings.register_profile("local", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "local")


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    """An engine on a fresh file."""
    made = Bench(tmp_path)
    yield made
    made.close()
