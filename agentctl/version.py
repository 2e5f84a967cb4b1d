"""The version, in the one place that the package and the build read."""

from __future__ import annotations

from typing import Final

VERSION: Final = "0.1.0"
