"""What every kind of action and tool is: its effect, its risk, what it can do.

Above: the compiler, the policy and the programs, which all read this one table. Below: nothing.
Never: state, files, decisions; a new kind is one line here and one executor.
Source: specification, sections 1.1 (action, tool) and 6.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from attr import frozen

from agentctl.value import Value

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentctl.engine.plan import Predictability
    from agentctl.engine.records import EffectClass, Idempotency, Risk

FUNCTION_KIND: Final = "python.function"
# The effect of an agent that waits for a person's answer; it is held until there is one.
TAKE_ANSWER: Final = "catalog.take_answer"
"""The kind of an action that an embedding service registered."""


@frozen(kw_only=True, eq=False, repr=False)
class KindFacts(Value):
    """The facts of one kind of action.

    `idempotency` is what holds when the action declares none; `declares` says whether it may.
    `capability` is what `toolsAllow` and `toolsDeny` may name. `predictability` is how much of
    it check mode can tell.
    """

    kind: str
    effect_class: EffectClass
    idempotency: Idempotency
    risk: Risk
    capability: str = ""
    predictability: Predictability = "requires_execution"
    declares: bool = False

    @property
    def is_effectful(self) -> bool:
        """Whether it leaves a mark that an inverse could undo, or that needs care."""
        return self.effect_class in MUTATING or self.kind in _REMEMBERING


@frozen(kw_only=True, eq=False, repr=False)
class ToolFacts(Value):
    """What the executor of a kind of tool does; a tool's declaration must agree."""

    kind: str
    effect_class: EffectClass
    capability: str


MUTATING: Final[frozenset[EffectClass]] = frozenset(
    {
        "workspace_mutate",
        "external_mutate",
        "process_execution",
        "network",
        "remote_agent",
    }
)
_REMEMBERING: Final = frozenset(
    {
        "builtin.memory.write",
        "builtin.long_term_memory.write",
        "builtin.long_term_memory.promote",
    }
)
PROCESS_KINDS: Final = frozenset({"builtin.shell.exec", "extension.process"})
"""Kinds that start a program, and so have a command, limits and isolation."""

MEMORY_WRITERS: Final = frozenset({"builtin.memory.write", "builtin.long_term_memory.promote"})
"""Kinds that write the run's working memory under the key in `with.key`."""

_FACTS: Final = (
    KindFacts(
        kind="builtin.assign",
        effect_class="pure",
        idempotency="pure",
        risk="low",
        predictability="fully_predictable",
    ),
    KindFacts(
        kind="builtin.assert",
        effect_class="pure",
        idempotency="pure",
        risk="low",
        predictability="fully_predictable",
    ),
    KindFacts(
        kind="builtin.read",
        effect_class="observe",
        idempotency="idempotent",
        risk="low",
        capability="filesystem.read",
        predictability="partially_predictable",
    ),
    # A whole file of fixed bytes, replaced atomically: a second time gives the same world.
    KindFacts(
        kind="builtin.write",
        effect_class="workspace_mutate",
        idempotency="idempotent",
        risk="medium",
        capability="filesystem.write",
    ),
    KindFacts(
        kind="builtin.shell.exec",
        effect_class="process_execution",
        idempotency="at_most_once",
        risk="high",
        capability="process.exec",
    ),
    KindFacts(
        kind="builtin.memory.read",
        effect_class="internal_state",
        idempotency="pure",
        risk="low",
        capability="memory.read",
        predictability="fully_predictable",
    ),
    KindFacts(
        kind="builtin.memory.write",
        effect_class="internal_state",
        idempotency="idempotent",
        risk="low",
        capability="memory.write",
        predictability="fully_predictable",
    ),
    KindFacts(
        kind="builtin.long_term_memory.read",
        effect_class="observe",
        idempotency="idempotent",
        risk="low",
        capability="memory.read",
        predictability="partially_predictable",
    ),
    KindFacts(
        kind="builtin.long_term_memory.search",
        effect_class="observe",
        idempotency="idempotent",
        risk="low",
        capability="memory.read",
        predictability="partially_predictable",
    ),
    KindFacts(
        kind="builtin.long_term_memory.write",
        effect_class="internal_state",
        idempotency="idempotent",
        risk="low",
        capability="memory.write",
    ),
    KindFacts(
        kind="builtin.long_term_memory.promote",
        effect_class="internal_state",
        idempotency="idempotent",
        risk="low",
        capability="memory.write",
    ),
    KindFacts(
        kind="mcp.call",
        effect_class="network",
        idempotency="at_most_once",
        risk="medium",
        capability="mcp.call",
        declares=True,
    ),
    KindFacts(
        kind="a2a.delegate",
        effect_class="remote_agent",
        idempotency="at_most_once",
        risk="medium",
        capability="a2a.delegate",
        declares=True,
    ),
    KindFacts(
        kind="extension.process",
        effect_class="process_execution",
        idempotency="at_most_once",
        risk="high",
        capability="process.exec",
        declares=True,
    ),
    KindFacts(
        kind=FUNCTION_KIND,
        effect_class="external_mutate",
        idempotency="at_most_once",
        risk="medium",
        capability="function.call",
        declares=True,
    ),
)
KINDS: Final[Mapping[str, KindFacts]] = {one.kind: one for one in _FACTS}

# `builtin.echo` touches nothing, so whatever it is declared as does no harm.
TOOLS: Final[Mapping[str, ToolFacts | None]] = {
    "builtin.workspace.read": ToolFacts(
        kind="builtin.workspace.read", effect_class="observe", capability="filesystem.read"
    ),
    "builtin.workspace.write": ToolFacts(
        kind="builtin.workspace.write",
        effect_class="workspace_mutate",
        capability="filesystem.write",
    ),
    "builtin.echo": None,
}


def kind_of(kind: str) -> KindFacts:
    """Return the facts of a known kind of action."""
    return KINDS[kind]
