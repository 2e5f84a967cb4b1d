"""Stage: a probe names a harmless action, and its templates read what a probe may read.

Above: the pipeline. Below: the library. Resolves the names of probes: the plan holds full ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from attr import define, evolve

from agentctl.engine.expression import PROBE_ROOT
from agentctl.engine.kinds import kind_of
from agentctl.engine.ledger import UNAMBIGUOUS
from agentctl.engine.template import dotted, placed_references
from agentctl.suggest import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from agentctl.diagnostics import DiagnosticCode
    from agentctl.engine.compiler.library import ActionEntry, Library
    from agentctl.engine.compiler.report import Report
    from agentctl.engine.document.model import Spec
    from agentctl.jsonvalue import JsonObject, JsonValue

EFFECT_FIELDS: Final = ("id", "idempotencyKey", "input")
_ROOTS: Final = ("inputs", "vars", PROBE_ROOT)
# What these return can never be an answer, or they need the task that asks.
_SPEECHLESS: Final[Mapping[str, str]] = {
    "builtin.read": "it returns the text of a file, never a status",
    "builtin.assert": "it passes or fails, and gives no status",
    "builtin.memory.read": "working memory belongs to the run and knows nothing of the outside",
}


def check_probes(spec: Spec, library: Library, report: Report) -> None:
    """Check every probe of the document and of its packs, and write full names into the library."""
    for entry in list(library.actions.values()):
        probe = entry.definition.get("probe")
        if isinstance(probe, dict):
            check = _Check(library, report, entry.file, f"{entry.place or entry.name}.probe")
            name = check.run(probe, dict(_visible(library, entry)))
            if name is not None:
                full: JsonObject = {**entry.definition, "probe": {**probe, "uses": name}}
                library.actions[entry.name] = evolve(entry, definition=full)
    for name, tool in spec.tools.items():
        if tool.probe is not None:
            check = _Check(library, report, library.root.file, f"spec.tools.{name}.probe")
            asked: JsonObject = {"uses": tool.probe.uses, "with": tool.probe.with_}
            check.run(asked, dict(library.root.scope.actions))


def _visible(library: Library, entry: ActionEntry) -> Iterator[tuple[str, str]]:
    """Yield the actions that a probe may name where it stands: as written, with the full name."""
    if entry.file == library.root.file:
        yield from library.root.scope.actions.items()
        return
    prefix = entry.name.removesuffix(entry.place.removeprefix("actions."))
    for name in library.actions:
        if name.startswith(prefix):
            yield name.removeprefix(prefix), name
            yield name, name


@define(eq=False, repr=False)
class _Check:
    """Checks one probe at its place."""

    library: Library
    report: Report
    file: str
    place: str

    def run(self, probe: JsonObject, visible: dict[str, str]) -> str | None:
        """Return the action's full name in the form of `uses`, or None."""
        self._templates(probe["with"])
        form, _, name = cast("str", probe["uses"]).partition(":")
        if form != "action" or name not in visible:
            self._problem(
                "missing_reference",
                f"the probe uses {probe['uses']!r}, which is not a known action",
                "uses",
                did_you_mean(cast("str", probe["uses"]), [f"action:{one}" for one in visible]),
            )
            return None
        self._action(self.library.actions[visible[name]])
        return f"action:{visible[name]}"

    def _action(self, action: ActionEntry) -> None:
        facts = kind_of(action.kind)
        if action.kind in _SPEECHLESS:
            reason = _SPEECHLESS[action.kind]
            self._problem("incompatible_state", f"{action.kind} is no probe: {reason}", "uses")
        elif (action.idempotency or facts.idempotency) not in UNAMBIGUOUS:
            declares = "declare idempotency: idempotent" if facts.declares else None
            message = f"a probe must be harmless, but {action.name!r} ({action.kind}) is not"
            self._problem(
                "incompatible_state", f"{message} declared pure or idempotent", "uses", declares
            )
        elif facts.is_effectful and not facts.declares:
            message = f"a probe only looks, but {action.name!r} ({action.kind}) changes something"
            self._problem("incompatible_state", message, "uses")
        if action.definition.get("probe"):
            message = f"the probe {action.name!r} has a probe itself"
            self._problem("incompatible_state", message, "uses", "a probe is never in doubt")

    def _templates(self, given: JsonValue) -> None:
        found, errors = placed_references(given, f"{self.place}.with")
        for bad in errors:
            self.report.add(
                "invalid_template",
                bad.error.message,
                file=self.file,
                path=bad.place,
                help=bad.error.help,
            )
        for one in found:
            root, name = one.path[0], one.path[1]
            if root not in _ROOTS:
                message = f"{dotted(one.path)}: a probe reads effect, inputs and vars only"
            elif root == PROBE_ROOT and name not in EFFECT_FIELDS:
                message = f"{dotted(one.path)}: an effect has no {name!r} to read"
            else:
                continue
            help = did_you_mean(name, EFFECT_FIELDS) if root == PROBE_ROOT else None
            self.report.add("invalid_template", message, file=self.file, path=one.place, help=help)

    def _problem(
        self, code: DiagnosticCode, message: str, inside: str, help: str | None = None
    ) -> None:
        path = f"{self.place}.{inside}"
        self.report.add(code, message, file=self.file, path=path, help=help)
