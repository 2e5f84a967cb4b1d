"""agentctl: a durable workflow engine for agentic work, modelled as explicit state machines.

This is the public door: everything in `__all__` is stable, everything else may change. Names
are loaded on first use, so that `import agentctl` costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentctl.version import VERSION

if TYPE_CHECKING:
    from agentctl.diagnostics import Diagnostic
    from agentctl.door import Engine
    from agentctl.engine.events import Event, RunOutcome
    from agentctl.errors import (
        AgentctlError,
        DocumentError,
        EffectError,
        IllegalTransition,
        PrerequisiteError,
        RunHeld,
        StateError,
        StoreError,
        UncertainEffect,
        UnknownRun,
        UsageError,
    )
    from agentctl.loading import Loaded

__version__ = VERSION

__all__ = [
    "AgentctlError",
    "Diagnostic",
    "DocumentError",
    "EffectError",
    "Engine",
    "Event",
    "IllegalTransition",
    "Loaded",
    "PrerequisiteError",
    "RunHeld",
    "RunOutcome",
    "StateError",
    "StoreError",
    "UncertainEffect",
    "UnknownRun",
    "UsageError",
    "__version__",
]

_HOMES = {
    "Diagnostic": "agentctl.diagnostics",
    "Engine": "agentctl.door",
    "Event": "agentctl.engine.events",
    "Loaded": "agentctl.loading",
    "RunOutcome": "agentctl.engine.events",
}


def __getattr__(name: str) -> object:
    """Load a public name from its home."""
    if name not in __all__:
        raise AttributeError(f"module 'agentctl' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES.get(name, "agentctl.errors")), name)
