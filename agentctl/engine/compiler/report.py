"""Where the stages put what they find, and how a path becomes a line and a column.

Above: every stage. Below: diagnostics. Never: deciding what is wrong.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from attr import define, evolve, field

from agentctl.diagnostics import Diagnostic

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agentctl.diagnostics import DiagnosticCode, Severity


class Places(Protocol):
    """Knows where the parts of one text stand."""

    def locate(self, path: str) -> tuple[int | None, int | None]:
        """Return line and column, from 1, of a path such as `spec.tasks[2].uses`.

        A path that is not in the text is located at its nearest ancestor.
        """
        ...


@define(eq=False, repr=False)
class Report:
    """The problems of one compilation; `places` has the locator of each file."""

    places: dict[str, Places] = field(factory=dict)
    found: list[Diagnostic] = field(factory=list)
    _seen: set[tuple[str, str, str, str]] = field(factory=set)

    def add(
        self,
        code: DiagnosticCode,
        message: str,
        *,
        file: str,
        path: str,
        help: str | None = None,
        severity: Severity = "error",
    ) -> None:
        """Add one problem, unless the very same stands there already."""
        key = (code, message, file, path)
        if key in self._seen:
            return
        self._seen.add(key)
        made = Diagnostic(
            code=code, message=message, file=file, path=path, help=help, severity=severity
        )
        self.found.append(self._located(made))

    def extend(self, found: Iterable[Diagnostic]) -> None:
        """Add the problems that another part found, and locate them."""
        self.found += [self._located(one) for one in found]

    @property
    def has_errors(self) -> bool:
        """Whether anything stops the compilation."""
        return any(one.severity == "error" for one in self.found)

    def sorted(self) -> list[Diagnostic]:
        """Return everything in reading order."""
        return sorted(
            self.found, key=lambda one: (one.file, one.line or 0, one.column or 0, one.path)
        )

    def _located(self, one: Diagnostic) -> Diagnostic:
        places = self.places.get(one.file)
        if places is None or one.line is not None or not one.path:
            return one
        line, column = places.locate(one.path)
        return evolve(one, line=line, column=column)
