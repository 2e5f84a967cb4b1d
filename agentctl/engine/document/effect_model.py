"""How an effect is contained, and how one asks whether it happened.

Above: the hints, when a document says it. Source: specification, section 1.1.
"""

from __future__ import annotations

from typing import Literal

from attr import frozen

from agentctl.engine.document.fields import item
from agentctl.engine.document.words import MIB, Json
from agentctl.value import Value


@frozen(kw_only=True, eq=False, repr=False)
class Container(Value):
    """A container for one process."""

    image: str = item("NAME@sha256:… or sha256:…, local only.")
    runtime: Literal["auto", "docker", "podman"] = item("Engine.", "auto")
    memory_limit_bytes: int = item("Memory.", 256 * MIB, minimum=16 * MIB, maximum=16384 * MIB)
    cpu_limit_millis: int = item("Thousandths of a CPU.", 1000, minimum=1, maximum=64_000)
    pids_limit: int = item("Processes.", 64, minimum=1, maximum=4096)


@frozen(kw_only=True, eq=False, repr=False)
class Probe(Value):
    """How to ask the outside world whether an effect happened."""

    uses: str = item("action:NAME, of a harmless action.")
    with_: dict[str, Json] = item("Its input; it may name the effect.", factory=dict)
    mode: Literal["manual", "automatic"] = item("Whether a resume asks by itself.", "manual")
