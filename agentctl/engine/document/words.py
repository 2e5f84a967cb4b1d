"""What the declarations of several sections share: their choices, units and bounds.

Above: the model. Source: specification, section 1.1.
"""

from __future__ import annotations

from typing import Any, Literal

Json = Any
"""Any JSON value; the reader keeps its own kind of node out of it."""

IdempotencyName = Literal["pure", "idempotent", "keyed", "at_most_once", "unknown"]
ApprovalName = Literal["policy", "never", "always"]

JSON_SCHEMA = ["object", "boolean"]
MIB = 1 << 20
DAY_SECONDS = 86_400
