"""References to secrets: where a value is found, never the value.

Above: the model. Source: specification, section 1.1 (secret).
"""

from __future__ import annotations

from attr import frozen

from agentctl.engine.document.fields import item
from agentctl.value import Value


@frozen(kw_only=True, eq=False, repr=False)
class SecretProcess(Value):
    """A program that prints the secret."""

    command: str = item("Program; its name must be in policy.secretProcessAllowlist.")
    args: list[str] = item("Its arguments.", factory=list, maxItems=64)
    timeout_seconds: int = item("Time.", 5, minimum=1, maximum=60)
    output_limit_bytes: int = item("Output.", 16 << 10, minimum=1, maximum=64 << 10)


@frozen(kw_only=True, eq=False, repr=False)
class Secret(Value):
    """Exactly one place where a secret is found."""

    env: str | None = item("Environment variable.", None, pattern="^[A-Za-z_][A-Za-z0-9_]*$")
    file: str | None = item("File below policy.secretFileRoots.", None)
    process: SecretProcess | None = item("Program that prints it.", None)
