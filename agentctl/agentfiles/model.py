"""What an agent file grants: the state, two bounds, every token with its place, and problems.

Above: the readers, the check and the renderers. Below: the vocabulary.
"""

from __future__ import annotations

from typing import Final, Literal, get_args

from attr import define, field, frozen

from agentctl.agentfiles.powers import powers_of, scopes_of
from agentctl.value import Value

Format = Literal[
    "claude",
    "copilot",
    "goose",
    "gemini",
    "opencode",
    "codex",
    "cursor",
    "factory",
    "agents-md",
]
FORMATS: Final[tuple[Format, ...]] = get_args(Format)
GrantKind = Literal["listed", "none", "inherits", "unreadable"]
ProblemCode = Literal[
    "unreadable", "unknown_tool", "unknown_key", "not_enforced", "inherits", "doubtful"
]
ALL: Final = "all"
# What may stand in an upper bound: the scopes, or `all` when the file cannot tell.
Upper = tuple[str, ...] | Literal["all"]


@frozen(eq=False, repr=False)
class Problem(Value):
    """What a person should know about a file, with its place; lines and columns count from 1."""

    code: ProblemCode
    message: str
    line: int
    column: int
    help: str | None = None


@frozen(eq=False, repr=False)
class Token(Value):
    """One name of the file as it is written, its place, and what it stands for here.

    `is_denied` says that the file takes it away again, or only names it to refuse it.
    """

    text: str
    line: int
    column: int
    scopes: tuple[str, ...] = ()
    extras: tuple[str, ...] = ()
    is_known: bool = True
    is_denied: bool = False


@frozen(kw_only=True, eq=False, repr=False)
class Grant(Value):
    """What a file lets an agent do.

    The bounds are kept as powers (`edit.change`), and read as scopes (`edit`). `scopes_lower` is what it surely grants: the most that may be given in its name.
    `scopes_upper` is what it may grant, or `all` where that cannot be told.
    `extras` are powers outside the seven scopes (`web`, `mcp:SERVER/TOOL`, `unknown:NAME`) and
    remarks on them. `limits` are bounds that the host keeps (`no-write`, `asks:bash`); to lose one
    is to grant more. Source: the agent-file specification, section 14.
    """

    format: Format
    state: GrantKind
    tokens: tuple[Token, ...] = ()
    powers_lower: frozenset[str] = frozenset()
    powers_upper: frozenset[str] | Literal["all"] = frozenset()
    extras: tuple[str, ...] = ()
    limits: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()

    @property
    def scopes_lower(self) -> tuple[str, ...]:
        """What the file surely grants, in the fixed order."""
        return scopes_of(self.powers_lower)

    @property
    def scopes_upper(self) -> Upper:
        """What the file may grant, in the fixed order, or `all`."""
        return ALL if self.powers_upper == ALL else scopes_of(self.powers_upper)

    @property
    def is_open(self) -> bool:
        """Whether more may be granted than the file says."""
        return self.powers_upper == ALL


@define(eq=False, repr=False)
class Draft:
    """A grant while its file is being read."""

    format: Format
    tokens: list[Token] = field(factory=list)
    lower: set[str] = field(factory=set)
    upper: set[str] = field(factory=set)
    extras: dict[str, None] = field(factory=dict)
    limits: dict[str, None] = field(factory=dict)
    problems: list[Problem] = field(factory=list)
    is_open: bool = False

    def take(self, token: Token) -> None:
        """Take a token: what it grants counts in both bounds, unless it is denied."""
        self.tokens.append(token)
        if not token.is_denied:
            self.lower |= self._powers(token)
            self.upper |= self._powers(token)
            self.add(*token.extras)

    def doubt(self, token: Token) -> None:
        """Take a token that counts in the upper bound alone."""
        self.tokens.append(token)
        self.upper |= self._powers(token)
        self.add(*token.extras)

    def _powers(self, token: Token) -> frozenset[str]:
        return powers_of(self.format, token.text, token.scopes, token.extras)

    def add(self, *extras: str) -> None:
        """Add extras; `all` opens the upper bound."""
        self.extras.update(dict.fromkeys(extras))
        if ALL in extras:
            self.is_open = True

    def limit(self, *limits: str) -> None:
        """Add bounds that the host keeps."""
        self.limits.update(dict.fromkeys(limits))

    def note(
        self, code: ProblemCode, message: str, place: tuple[int, int], help: str | None = None
    ) -> None:
        """Add a problem."""
        self.problems.append(Problem(code, message, *place, help))

    def finish(self, state: GrantKind) -> Grant:
        """Return the grant."""
        return Grant(
            format=self.format,
            state=state,
            tokens=tuple(self.tokens),
            powers_lower=frozenset(self.lower),
            powers_upper=ALL if self.is_open else frozenset(self.upper),
            extras=tuple(self.extras),
            limits=tuple(self.limits),
            problems=tuple(self.problems),
        )

    def inherits(self, message: str, place: tuple[int, int]) -> Grant:
        """Return the grant of a file that leaves the choice to its host."""
        self.note("inherits", message, place, "list the tools that the agent needs")
        self.add(ALL)
        return self.finish("inherits")

    def unreadable(self, message: str, place: tuple[int, int], help: str | None = None) -> Grant:
        """Return the grant of a file that cannot be read: surely nothing, perhaps everything."""
        self.note("unreadable", message, place, help)
        return Grant(
            format=self.format,
            state="unreadable",
            tokens=tuple(self.tokens),
            powers_upper=ALL,
            problems=tuple(self.problems),
        )
