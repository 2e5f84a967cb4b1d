"""The bench of the engine's tests."""

from __future__ import annotations

from tests.engine.conftest import bench

__all__ = ["bench"]
