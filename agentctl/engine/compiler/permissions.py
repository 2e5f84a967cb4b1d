"""Stage: secrets, programs and names that the policy must list; warnings of later denials.

Above: the pipeline. Below: the policy's pure decisions. What depends on the machine or on
values (paths, hosts, files) is judged when it is used.
Source: specification, sections 1.1 (policy, secret) and 6 (processes).
"""

from __future__ import annotations

from posixpath import isabs, normpath
from typing import TYPE_CHECKING, cast

from attr import frozen

from agentctl.engine.kinds import KINDS, PROCESS_KINDS
from agentctl.engine.policy import Policy, program_allowed, program_name
from agentctl.engine.template import is_template
from agentctl.suggest import did_you_mean
from agentctl.value import Value

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from agentctl.diagnostics import DiagnosticCode
    from agentctl.engine.compiler.library import ActionEntry, Library
    from agentctl.engine.compiler.report import Report
    from agentctl.engine.document.model import Spec
    from agentctl.engine.document.secret_model import Secret
    from agentctl.jsonvalue import JsonObject


@frozen(eq=False, repr=False)
class PermissionStage(Value):
    """Compares what the document does with what its policy lists."""

    spec: Spec
    library: Library
    file: str
    report: Report

    def run(self, policy: Policy) -> None:
        """Check secrets and actions, and warn of what the tool lists will deny."""
        for secret, place in self._secrets():
            self._secret(secret, self.file, place)
        for action in self.library.actions.values():
            self._action(action)
        if any(one.kind == "builtin.shell.exec" for one in self.library.actions.values()):
            from agentctl.engine.compiler.processes import check_shell_inputs

            check_shell_inputs(self.library, self.spec.policy.process_allowlist, self.report)
        self._remotes()
        self._warn(policy)

    def _secrets(self) -> Iterator[tuple[Secret, str]]:
        """Return every secret of the document's own sections, and where it stands."""
        spec = self.spec
        for name, provider in spec.providers.items():
            place = f"spec.providers.{name}"
            if provider.credential is not None:
                yield provider.credential, f"{place}.credential"
            for header, secret in provider.headers.items():
                yield secret, f"{place}.headers.{header}"
        for name, server in spec.mcp_servers.items():
            for header, secret in server.headers.items():
                yield secret, f"spec.mcpServers.{name}.headers.{header}"
        for name, peer in spec.a2a_peers.items():
            for header, secret in peer.headers.items():
                yield secret, f"spec.a2aPeers.{name}.headers.{header}"
        if spec.policy.network.custom_ca is not None:
            yield spec.policy.network.custom_ca, "spec.policy.network.customCa"

    def _secret(self, secret: Secret, file: str, place: str) -> None:
        if secret.file is not None:
            self._secret_file(secret.file, file, f"{place}.file")
        if secret.process is not None:
            self._secret_program(secret.process.command, file, f"{place}.process.command")

    def _secret_file(self, path: str, file: str, place: str) -> None:
        roots = self.spec.policy.secret_file_roots
        if not any(_is_below(path, root) for root in roots):
            self._problem(
                "invalid_secret_reference",
                f"the secret file {path!r} is not below a root in policy.secretFileRoots",
                file,
                place,
                "add its folder to policy.secretFileRoots",
            )

    def _secret_program(self, command: str, file: str, place: str) -> None:
        if not program_allowed(command, self.spec.policy.secret_process_allowlist):
            name = program_name(command)
            self._problem(
                "invalid_secret_reference",
                f"policy.secretProcessAllowlist does not list the program {name!r}",
                file,
                place,
                f"add {name} to policy.secretProcessAllowlist",
            )

    def _action(self, action: ActionEntry) -> None:
        if action.kind not in PROCESS_KINDS:
            return
        definition, policy = action.definition, self.spec.policy
        command = cast("str", definition["command"])
        if not is_template(command) and not program_allowed(command, policy.process_allowlist):
            name = program_name(command)
            self._problem(
                "policy_denied",
                f"policy.processAllowlist does not list the program {name!r}",
                action.file,
                f"{action.place}.command",
                f"add {name} to policy.processAllowlist",
            )
        for variable, secret in _environment(definition):
            self._variable(action, variable, secret)

    def _variable(self, action: ActionEntry, variable: str, secret: JsonObject) -> None:
        place = f"{action.place}.env.{variable}"
        if variable not in self.spec.policy.environment_allowlist:
            self._problem(
                "policy_denied",
                f"policy.environmentAllowlist does not list the variable {variable!r}",
                action.file,
                place,
                f"add {variable} to policy.environmentAllowlist",
            )
        path, process = secret.get("file"), secret.get("process")
        if isinstance(path, str):
            self._secret_file(path, action.file, f"{place}.file")
        if isinstance(process, dict):
            command = cast("str", process.get("command") or "")
            self._secret_program(command, action.file, f"{place}.process.command")

    def _remotes(self) -> None:
        """Check the servers and peers that tasks name in plain text."""
        known: dict[str, tuple[str, str, Mapping[str, object]]] = {
            "mcp.call": ("server", "MCP server", self.spec.mcp_servers),
            "a2a.delegate": ("peer", "A2A peer", self.spec.a2a_peers),
        }
        for unit in self.library.units.values():
            for position, task in enumerate(unit.tasks):
                uses = unit.uses.get(task.id)
                if uses is None or uses.form != "action":
                    continue
                action = self.library.actions[uses.name]
                if action.kind not in known:
                    continue
                key, what, declared = known[action.kind]
                name = {**action.defaults, **task.with_}.get(key)
                if isinstance(name, str) and not is_template(name) and name not in declared:
                    self._problem(
                        "missing_reference",
                        f"no {what} is named {name!r}",
                        unit.file,
                        unit.at(position, f"with.{key}"),
                        did_you_mean(name, declared) or "declare it in the workflow's spec",
                    )

    def _warn(self, policy: Policy) -> None:
        """Warn of tasks that the tool lists will stop when they run."""
        for unit in self.library.units.values():
            for position, task in enumerate(unit.tasks):
                uses = unit.uses.get(task.id)
                if uses is None or uses.form != "action":
                    continue
                facts = KINDS[self.library.actions[uses.name].kind]
                if not facts.capability or facts.effect_class == "internal_state":
                    continue
                denied = policy.denial(facts.capability, (uses.name,))
                if denied is not None:
                    self.report.add(
                        "policy_denied",
                        f"task {task.id!r} will be refused when it runs: {denied}",
                        file=unit.file,
                        path=unit.at(position, "uses"),
                        severity="warning",
                    )

    def _problem(
        self, code: DiagnosticCode, message: str, file: str, path: str, help: str
    ) -> None:
        self.report.add(code, message, file=file, path=path, help=help)


def _environment(definition: JsonObject) -> Sequence[tuple[str, JsonObject]]:
    found = cast("dict[str, JsonObject] | None", definition.get("env"))
    return list((found or {}).items())


def _is_below(path: str, root: str) -> bool:
    """Return whether a path as written lies below a root as written."""
    inside, outside = normpath(path), normpath(root)
    if inside == ".." or inside.startswith("../"):
        return False
    if outside == ".":
        return not isabs(inside)
    return inside.startswith(outside.rstrip("/") + "/")
