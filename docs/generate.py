"""Writes the pages that follow from the code; with `--check` only says whether they are current.

Run by `make docs-write` and `make docs`. The command line, the machines, the errors and the
document's schema are read from the package itself, so that these pages cannot drift. An error
code that has no meaning here is refused.
"""

from __future__ import annotations

import ast
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, get_args

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from agentctl.providers import ProviderFacts

DOCS = Path(__file__).resolve().parent
PACKAGE = DOCS.parent / "agentctl"

DIAGNOSTICS = {
    "agent_file": "an agent file cannot be used as it stands, or has names that nobody knows",
    "budget_exceeded": "a count is above what `runtime.budgets` allows",
    "dependency_cycle": "tasks, sub-workflows or packs need each other; the circle is named",
    "duplicate_key": "a mapping holds the same key twice",
    "duplicate_task": "two tasks have the same id",
    "incompatible_state": "the lock file, or something else on record, belongs to other content",
    "invalid_expansion": "a `foreach`, `matrix` or `loop` cannot be expanded as written",
    "invalid_router": "a router's cases and destinations do not fit together",
    "invalid_schema": "a JSON Schema is not one",
    "invalid_secret_reference": "a secret is not a reference, or the policy does not allow it",
    "invalid_template": "a template or condition cannot be parsed, or looks where it may not",
    "memory_conflict": "unordered tasks write the same key of working memory",
    "migration_required": "the document is of an older form; it was translated (a warning)",
    "missing_reference": "a name is not defined; the nearest one is suggested",
    "pack_error": "a pack cannot be read, resolved or trusted",
    "policy_denied": "the policy does not allow what the document asks for",
    "reserved_name": "a variable has a name that the engine sets itself",
    "schema_violation": "an unknown field, a missing one, or a value of the wrong type or size",
    "source_error": "a file that the document names cannot be captured",
    "tool_not_granted": "an agent file does not grant a tool that the workflow lists (a warning)",
    "unsupported_capability": "a provider, tool or action cannot do what is asked of it",
    "unsupported_version": "the `apiVersion` or `kind` is not known",
    "yaml_syntax": "the text is neither YAML nor JSON",
}

FAILURES = {
    "budget_exceeded": "the next step is more than a budget of the run has left; raise it on resume",
    "usage_limit": "an agent's next request could pass its own `usageLimit`",
    "retry_diverged": "a retry asked for something else than what its earlier attempt had confirmed",
    "approval_expired": "nobody decided about what a task asked for before its question expired",
    "approval_denied": "an approval was needed and `policy.nonInteractive` denies it",
    "approval_rejected": "a person rejected what a task asked for",
    "approval_required": "the run is paused until a person decides",
    "artifact_too_large": "bytes that an effect would keep are above the bound",
    "assertion_failed": "a `builtin.assert` does not hold; its message says why",
    "cancelled": "a person or a signal stopped it",
    "child_failed": "a child of an expansion, loop or sub-workflow failed",
    "executor_error": "an executor or a registered function raised something unforeseen",
    "process_failed": "a program ended with an exit code other than 0; may be retried",
    "process_missing": "a program does not exist, may not be run, or could not be started",
    "process_killed": "a signal ended a program, so what it did is not known",
    "process_lost": "a program vanished without a word of how it ended",
    "isolation_unavailable": "this machine cannot give the container that an action asks for",
    "extension_mismatch": "an extension program is not what its action declares; it was not invoked",
    "extension_malformed": "an extension program answered something that the protocol does not allow",
    "answer_cut_short": "a model's answer reached `maxOutputTokens` where a part of it is of no use",
    "empty_answer": "a model answered with neither text nor tool calls",
    "model_refused": "a model refused; the error's `detail.said` has its words",
    "safety_stop": "the filter of a provider stopped an answer",
    "file_error": "the operating system refused a file operation; may be retried",
    "file_missing": "a file does not exist; may be retried",
    "file_too_large": "a file is above the bound",
    "invalid_input": "the rendered input of a task does not fit its action",
    "invalid_template": "a template's value cannot stand where it stands, as a list inside a text",
    "loop_exhausted": "a loop's condition still held after its last iteration",
    "lost": "the process ended before the result of a harmless effect was stored; it runs again",
    "memory_conflict": "a task wrote a key of working memory that it did not declare",
    "missing_function": "the plan names a function that this process has not registered",
    "missing_value": "a template names a value that does not exist; `null` would be one",
    "not_json": "a function returned what JSON cannot hold",
    "not_utf8": "a file or a text is not valid UTF-8",
    "output_too_large": "an output is above the bound",
    "path_refused": "a path leaves the workspace or goes through a symbolic link",
    "policy_denied": "the policy does not allow it",
    "provider_unavailable": "the provider did not take the request; may be retried",
    "connection_lost": "a connection broke after the request was sent, so what it did is not known",
    "credential_refused": "a provider does not accept the credential, or not for this",
    "invalid_provider_answer": "a provider answered something that its protocol does not allow",
    "network_denied": "the policy does not let this address be reached, or it redirects elsewhere",
    "provider_rejected": "a provider does not accept the request; asking again would not help",
    "quota_exceeded": "an account has no quota or credit left with a provider",
    "rate_limited": "a provider wants to be asked later; may be retried, its time is in the detail",
    "requires_execution": "check mode cannot tell; only a run can",
    "run_timeout": "the time given with `--timeout-seconds` is over",
    "schema_violation": "an input or output does not fit its JSON Schema",
    "structured_output": "an agent's answer is not the JSON that was asked for",
    "task_failed": "a task failed for a reason without a code of its own",
    "timeout": "an effect did not answer in time; may be retried where repeating is harmless",
    "tool_call_limit": "an agent asked for more tool calls than `maxToolCalls`",
    "tool_denied": "an agent asked for a tool that it may not call",
    "turn_limit": "an agent did not finish within `maxTurns`",
    "unexpected": "an error without a code of its own; its message names its type",
    "uncertain_effect": "an effect may have happened; the run is paused until that is settled",
}

# What the ledger stores for an exception that carries no code.
FALLBACK = "unexpected"

_ERRORS_HEAD = """\
# Errors and exit codes

A code is stable: scripts may compare it. Texts may change. With `--output json` an error is one
document on standard output, `{"error": {"code", "exitCode", "message", "runId", "traceId"}}`.
"""

_CAPABILITIES_HEAD = """\
# What each kind of provider can do

`agentctl check` refuses what is not here, before anything runs; [providers](providers.md) says
how it is used.
"""

_OPERATIONS_BEGIN = "<!-- operations: written by docs/generate.py -->"
_OPERATIONS_END = "<!-- end of operations -->"

_MACHINES_HEAD = """\
# The state machines

Every record moves along one of these machines and in no other way: the engine refuses any other
move, the database rejects it once more, and `agentctl verify` replays each one from the journal.
`agentctl machines show NAME` draws a machine in the terminal's format of your choice.
"""


def main(arguments: list[str]) -> int:
    """Write or check every page; return 1 when one is not current."""
    is_check = arguments == ["--check"]
    if arguments and not is_check:
        print("usage: docs/generate.py [--check]", file=sys.stderr)
        return 2
    stale = []
    for name, make in PAGES.items():
        path, text = DOCS / name, make()
        current = path.read_text(encoding="utf-8") if path.exists() else None
        if current == text:
            continue
        stale.append(name)
        if not is_check:
            path.write_text(text, encoding="utf-8")
            print(f"wrote docs/{name}")
    if is_check and stale:
        print(f"not current: {', '.join(stale)}; run `make docs-write`", file=sys.stderr)
        return 1
    return 0


def cli() -> str:
    """Return the reference of the command line."""
    from agentctl.cli.reference import markdown

    return markdown()


def machines() -> str:
    """Return every machine: its diagram, its states and its events."""
    from agentctl.machines import compiled
    from agentctl.machines.draw import markdown
    from agentctl.machines.table import Table

    tables = [one for one in vars(compiled).values() if isinstance(one, Table)]
    parts = [_MACHINES_HEAD]
    parts += [f"- [{one.name}](#{one.name}): {one.meaning}" for one in tables]
    # Each table is a page of its own; here it is a section.
    parts += ["\n#" + markdown(one).rstrip() for one in tables]
    return "\n".join(parts) + "\n"


def errors() -> str:
    """Return every code with its meaning. Raises SystemExit when one has none."""
    from agentctl.diagnostics import DiagnosticCode

    _same("diagnostic", set(get_args(DiagnosticCode)), set(DIAGNOSTICS))
    _same("failure", set(failure_codes()), set(FAILURES))
    parts = [
        _ERRORS_HEAD,
        "## Of a command or a call",
        "The class is what `agentctl` raises to a program that embeds it.\n",
        "| code | exit code | class | meaning |",
        "| --- | --- | --- | --- |",
        *_classes(),
        "| `system` | 5 | | the operating system refused to open or write a file |",
        "\n## Of a document",
        "`agentctl check` reports all of them at once, each with its place. Exit code 2.\n",
        *_table(DIAGNOSTICS),
        "\n## Of a run or a task",
        "Stored with the run and shown by `agentctl inspect`. A failed run exits with 4, a paused",
        "one with 3, a cancelled one with 130.\n",
        *_table(FAILURES),
    ]
    return "\n".join(parts) + "\n"


def recovery() -> str:
    """Return the page on recovery with the table of operations between its two marks."""
    page = (DOCS / "recovery.md").read_text(encoding="utf-8")
    before, _, rest = page.partition(_OPERATIONS_BEGIN)
    _, _, after = rest.partition(_OPERATIONS_END)
    return "\n".join([before + _OPERATIONS_BEGIN, *_operations(), _OPERATIONS_END + after])


def _operations() -> Iterator[str]:
    """Yield one row for each cell, its states in the run machine's order."""
    from agentctl.machines.compiled import RUN
    from agentctl.machines.legality import OPERATIONS

    yield "| operation | state of the run | what happens | else |"
    yield "| --- | --- | --- | --- |"
    for operation, cells in OPERATIONS.items():
        for cell in cells:
            states = [f"`{one}`" for one in RUN.states if one in cell.states]
            listed = "every" if len(states) == len(RUN.states) else ", ".join(states)
            said = cell.says if cell.is_legal else f"refused: {cell.says}"
            yield f"| {operation} | {listed} | {said} | {_next(cell.next_step)} |"


def _next(command: str | None) -> str:
    return "" if command is None else f"`{command}`"


def schema() -> str:
    """Return the JSON Schema of workflow documents, as `agentctl schema --write` does."""
    from agentctl.engine.document.schema import document_schema

    return json.dumps(document_schema(), ensure_ascii=False, indent=2) + "\n"


def capabilities() -> str:
    """Return what each kind of provider can do, from the table that `check` reads."""
    from agentctl.providers import PROVIDERS

    parts = [_CAPABILITIES_HEAD]
    names = list(next(iter(PROVIDERS.values())).features())
    parts += [f"| kind | protocol | {' | '.join(names)} |", "| --- " * (len(names) + 2) + "|"]
    for one in PROVIDERS.values():
        told = " | ".join(str(text or "no") for text in one.features().values())
        parts.append(f"| `{one.kind}` | {one.protocol} | {told} |")
    parts += ["", "| kind | address | credential | `reasoning.effort` | `reasoning.mode` |"]
    parts.append("| --- | --- | --- | --- | --- |")
    for one in PROVIDERS.values():
        address = one.endpoint or ("declared" if one.is_remote else "none")
        key = (
            f"`{one.credential}`" if one.credential else "as declared" if one.is_remote else "none"
        )
        efforts, modes = ", ".join(one.efforts) or "none", ", ".join(one.modes) or "none"
        parts.append(f"| `{one.kind}` | {address} | {key} | {efforts} | {modes} |")
    parts += ["", "| kind | `providerOptions` |", "| --- | --- |"]
    for one in PROVIDERS.values():
        parts.append(f"| `{one.kind}` | {', '.join(_options(one)) or 'none'} |")
    return "\n".join(parts) + "\n"


def _options(facts: ProviderFacts) -> list[str]:
    return [
        f"`{name}`" + (f" ({', '.join(facts.choices[name])})" if name in facts.choices else "")
        for name in sorted(facts.options)
    ]


PAGES: dict[str, Callable[[], str]] = {
    "cli.md": cli,
    "machines.md": machines,
    "errors.md": errors,
    "capabilities.md": capabilities,
    "recovery.md": recovery,
    "workflow.schema.json": schema,
}


def failure_codes() -> Iterator[str]:
    """Yield every code that the engine and the executors give a failed run, task or effect."""
    compiling = {PACKAGE / "engine" / name for name in ("document", "compiler", "values")}
    for folder in ("engine", "effects"):
        for path in sorted((PACKAGE / folder).rglob("*.py")):
            if path.parent in compiling:
                continue
            tree = ast.parse(path.read_text(encoding="utf-8"))
            constants = {
                ast.unparse(one.targets[0]): _text(one.value)
                for one in tree.body
                if isinstance(one, ast.Assign)
            }
            for node in ast.walk(tree):
                yield from _codes(node, constants)
    yield FALLBACK


def _codes(node: ast.AST, constants: dict[str, str | None]) -> Iterator[str]:
    """Yield the codes in `code="…"`, in `{"code": "…"}` and in the `code` of a class."""
    found: list[ast.expr | None] = []
    if isinstance(node, ast.Call):
        found = [one.value for one in node.keywords if one.arg == "code"]
    elif isinstance(node, ast.Dict):
        pairs = zip(node.keys, node.values, strict=True)
        found = [value for key, value in pairs if _text(key) == "code"]
    elif isinstance(node, ast.ClassDef):
        found = [
            one.value
            for one in node.body
            if isinstance(one, ast.Assign) and ast.unparse(one.targets[0]) == "code"
        ]
    for one in found:
        text = _text(one) or (constants.get(one.id) if isinstance(one, ast.Name) else None)
        if text:
            yield text


def _text(node: ast.expr | None) -> str | None:
    is_text = isinstance(node, ast.Constant) and isinstance(node.value, str)
    return str(node.value) if isinstance(node, ast.Constant) and is_text else None


def _same(kind: str, used: set[str], explained: set[str]) -> None:
    missing, idle = sorted(used - explained), sorted(explained - used)
    if missing or idle:
        raise SystemExit(f"{kind} codes without meaning: {missing}; meanings of none: {idle}")


def _classes() -> list[str]:
    from agentctl.errors import AgentctlError, Bug

    def under(cls: type[AgentctlError]) -> Iterator[type[AgentctlError]]:
        yield cls
        for one in cls.__subclasses__():
            yield from under(one)

    rows = {}
    classes: list[type[AgentctlError | Bug]] = [*under(AgentctlError), Bug]
    for one in sorted(classes, key=lambda one: one.exit_code):
        is_own = one.__module__.startswith("agentctl.errors.") and one is not AgentctlError
        if is_own:
            summary = (one.__doc__ or "").split("\n\n")[0].strip()
            rows[one.__name__] = (
                f"| `{one.code}` | {one.exit_code} | `{one.__name__}` | {summary} |"
            )
    return list(rows.values())


def _table(meanings: dict[str, str]) -> list[str]:
    rows = [f"| `{code}` | {meaning} |" for code, meaning in meanings.items()]
    return ["| code | meaning |", "| --- | --- |", *rows]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
