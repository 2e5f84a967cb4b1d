"""Stage: what tasks give to actions that start a program.

Above: the permission stage. Below: the policy's pure decisions. A program that a template names
is judged when it is known. Source: specification, section 6 (processes).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentctl.engine.policy import program_allowed, program_name
from agentctl.engine.programs.process import SHELL_INPUTS
from agentctl.engine.template import is_template
from agentctl.suggest import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from agentctl.engine.compiler.library import Library
    from agentctl.engine.compiler.report import Report
    from agentctl.jsonvalue import JsonValue

SHELL = "builtin.shell.exec"


def check_shell_inputs(library: Library, allowlist: Sequence[str], report: Report) -> None:
    """Report inputs that a shell action has not, and programs that the policy does not list."""
    for action in library.actions.values():
        given = action.definition["with"]
        if action.kind == SHELL and isinstance(given, dict):
            _check(given, allowlist, report, action.file, f"{action.place}.with")
    for unit in library.units.values():
        for position, task in enumerate(unit.tasks):
            uses = unit.uses.get(task.id)
            is_action = uses is not None and uses.form == "action"
            if uses is not None and is_action and library.actions[uses.name].kind == SHELL:
                place = unit.at(position, "with")
                _check(task.with_, allowlist, report, unit.file, place)


def _check(
    given: Mapping[str, JsonValue],
    allowlist: Sequence[str],
    report: Report,
    file: str,
    place: str,
) -> None:
    for key in given:
        if key not in SHELL_INPUTS:
            message = f"{SHELL} has no input {key!r}; it has {', '.join(SHELL_INPUTS)}"
            help = did_you_mean(key, SHELL_INPUTS)
            report.add("schema_violation", message, file=file, path=f"{place}.{key}", help=help)
    command = given.get("command")
    if not isinstance(command, str) or is_template(command):
        return
    if not program_allowed(command, allowlist):
        name = program_name(command)
        report.add(
            "policy_denied",
            f"policy.processAllowlist does not list the program {name!r}",
            file=file,
            path=f"{place}.command",
            help=f"add {name} to policy.processAllowlist",
        )
