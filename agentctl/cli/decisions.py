"""A file of findings, for reconciling without a terminal.

Above: `agentctl reconcile --decisions`. Below: the document reader. The file is a YAML or JSON
list; every problem in it is reported at once, with its place, before anything is written.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, cast

from attr import frozen

from agentctl.diagnostics import Diagnostic
from agentctl.engine.document.fields import item
from agentctl.errors import (
    CompensationRefused,
    DocumentError,
    ResultMissing,
    ResultRefused,
    UnknownEffect,
)
from agentctl.limits import DECISIONS_MAX, EVIDENCE_BYTES_MAX
from agentctl.value import Value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentctl.diagnostics import DiagnosticCode
    from agentctl.engine.document.reader import TreePlaces
    from agentctl.engine.operations.reconcile import Finding, Status
    from agentctl.errors import AgentctlError, DecisionsRefused


@frozen(kw_only=True, eq=False, repr=False)
class Decision(Value):
    """One finding about one effect, as a file says it."""

    effect: str = item("Id, beginning of an id, or name of the effect.", minLength=1)
    status: Literal["applied", "not_applied", "not-applied", "compensated"] = item("What became.")
    reason: str = item("How it is known.", minLength=1)
    actor: str | None = item("Who found out.", None)
    result: Any = item("What the effect returned.", None)
    evidence: Any = item("What shows it.", None)
    compensation_effect: str | None = item("The effect that undid it.", None)
    approved: bool = item("Whether a person confirms the consequence.", default=False)


@frozen(eq=False, repr=False)
class Decisions(Value):
    """The findings of a file, and where they stand in it."""

    file: str
    listed: Sequence[Decision]
    places: TreePlaces

    def findings(self, actor: str, *, approved: bool) -> list[tuple[str, Finding]]:
        """Return each effect with its finding; `actor` and `approved` stand for what is absent."""
        from agentctl.engine.operations.reconcile import Finding

        return [
            (
                one.effect,
                Finding(
                    status=cast("Status", one.status.replace("-", "_")),
                    actor=one.actor or actor,
                    reason=one.reason,
                    evidence=one.evidence,
                    result=one.result,
                    compensation_effect=one.compensation_effect,
                    approved=one.approved or approved,
                ),
            )
            for one in self.listed
        ]

    def explained(self, refused: DecisionsRefused) -> DocumentError:
        """Return what the engine refused as problems of the file, each at its place."""
        return DocumentError([self._problem(place, error) for place, error in refused.problems])

    def _problem(self, place: int, error: AgentctlError) -> Diagnostic:
        code, inside = _about(error)
        path = f"[{place}]{inside}"
        line, column = self.places.locate(path)
        return Diagnostic(
            code=code,
            message=error.message,
            file=self.file,
            path=path,
            line=line,
            column=column,
            help=error.help,
        )


def read_decisions(file: str) -> Decisions:
    """Read a file of findings. Raises EvidenceRefused, and DocumentError with every problem."""
    from agentctl.cli.evidence import read_bounded
    from agentctl.engine.document.reader import TreePlaces
    from agentctl.engine.document.structure import structure
    from agentctl.engine.document.tree import parse_tree
    from agentctl.text.nodes import Sequence as SequenceNode

    raw = read_bounded(file, "--decisions", "EVIDENCE_BYTES_MAX", EVIDENCE_BYTES_MAX)
    tree = parse_tree(raw, file)
    if tree.root is None or tree.problems:
        raise DocumentError(tree.problems)
    if not isinstance(tree.root, SequenceNode):
        raise _refusal(file, "the file must hold a list of findings")
    if len(tree.root.items) > DECISIONS_MAX:
        raise _refusal(file, f"more than DECISIONS_MAX = {DECISIONS_MAX:,} findings")
    listed, problems = structure(tree.root, list[Decision], file)
    if listed is None:
        raise DocumentError(problems)
    return Decisions(file, listed, TreePlaces(tree.root))


def _refusal(file: str, message: str) -> DocumentError:
    help = "start each finding with `- effect: …`"
    found = Diagnostic(
        code="schema_violation", message=message, file=file, line=1, column=1, help=help
    )
    return DocumentError([found])


def _about(error: AgentctlError) -> tuple[DiagnosticCode, str]:
    """Return the code of a problem, and which part of a finding it is about."""
    if isinstance(error, UnknownEffect):
        return "missing_reference", ".effect"
    if isinstance(error, ResultMissing | ResultRefused):
        return "schema_violation", ".result"
    if isinstance(error, CompensationRefused):
        return "missing_reference", ".compensationEffect"
    return "incompatible_state", ".status"
