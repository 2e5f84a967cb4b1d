"""What an agent is granted, and what the policy forbids or opens all the same.

Above: exposure. Below: the descriptor.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from attr import frozen

from agentctl.catalog.descriptor import GROUPS, Group, TaskMode
from agentctl.value import Value

if TYPE_CHECKING:
    from agentctl.jsonvalue import JsonValue

_WILDCARD: Final = "*"
# A path with one of these may mean another path to whoever receives it.
_AMBIGUOUS: Final = frozenset("%\\?#")
_SPACE: Final = " "


@frozen(kw_only=True, eq=False, repr=False)
class Grant(Value):
    """What an agent has on one task.

    `claims` are its own and those of its run together. A tool that is optional must be named in
    `tools`, or its group in `groups`; its claims are needed besides.
    """

    role: str
    mode: TaskMode
    claims: frozenset[str] = frozenset()
    groups: frozenset[Group] = frozenset(GROUPS)
    tools: frozenset[str] = frozenset()


@frozen(eq=False, repr=False)
class Target(Value):
    """A target that a test may send a request to; a path that ends with `*` is a beginning."""

    method: str
    path: str

    def fits(self, method: JsonValue, path: JsonValue) -> bool:
        """Return whether a request goes to this target; one that is ambiguous never does."""
        if not isinstance(method, str) or not isinstance(path, str) or not _is_plain(path):
            return False
        if method.upper() != self.method.upper():
            return False
        if self.path.endswith(_WILDCARD):
            return path.startswith(self.path.removesuffix(_WILDCARD))
        return path == self.path


@frozen(kw_only=True, eq=False, repr=False)
class Policy(Value):
    """What holds for every agent, whatever it is granted.

    Values of secrets and the generic request of the tests are closed unless opened here.
    `interaction_kinds` are those that a person may be asked with; None allows all.
    """

    denied_operations: frozenset[str] = frozenset()
    denied_claims: frozenset[str] = frozenset()
    allows_secret_values: bool = False
    allows_escape_hatch: bool = False
    escape_hatch_targets: tuple[Target, ...] = ()
    interaction_kinds: frozenset[str] | None = None


def _is_plain(path: str) -> bool:
    """Return whether a path names one place: no steps up, no escapes, nothing invisible."""
    parts = path.split("/")
    return (
        path.startswith("/")
        and not {".", ".."} & set(parts)
        and "" not in parts[1:-1]
        and not _AMBIGUOUS & set(path)
        and path.isprintable()
        and _SPACE not in path
    )
