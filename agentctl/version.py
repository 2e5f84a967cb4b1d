"""The version, in the one place that the package and the build read.

Packs name the versions that they work with, so it says how much of the document contract is here.
"""

from __future__ import annotations

from typing import Final

VERSION: Final = "0.4.0"
