"""What the specification's data says, for tests that must not ask the catalog itself."""

from __future__ import annotations

import json
from typing import Any

from tests.cli.harness import SHARED

SPECIFIED: dict[str, Any] = json.loads(
    (SHARED / "spec" / "semantic-tools.json").read_text(encoding="utf-8")
)
TOOLS: list[dict[str, Any]] = SPECIFIED["tools"]
CLAIMS = sorted({claim for one in TOOLS for claim in one["requiredClaims"]})
GROUP_NAMES = sorted({one["optionalGroup"] for one in TOOLS if one["optionalGroup"]})
MODES = ["standard", "ask", "planning", "skill_test"]
ROLES = ["agent", "board", "approver", "security", "ceo", "admin", ""]
