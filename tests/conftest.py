"""How property tests draw their examples, the same for all of them."""

from __future__ import annotations

import os

from hypothesis import settings

# No deadline, because a loaded machine is no fault of the code. Where a change is judged, the
# examples are the same at every attempt; elsewhere each run tries new ones.
settings.register_profile("local", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "local")
