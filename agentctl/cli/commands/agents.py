"""`agentctl agents`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from agentctl.cli.command import command, make
from agentctl.cli.console import Console

if TYPE_CHECKING:
    from agentctl.agentfiles.agent import AgentFile
    from agentctl.agentfiles.model import Format
    from agentctl.jsonvalue import JsonObject, JsonValue

app = make("agents", "Read, check and convert agent files of other hosts, without widening them.")

AgentPath = Annotated[
    str, typer.Argument(metavar="FILE", help="An agent file.", show_default=False)
]
FormatOption = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="NAME",
        help="The format of the files given. [default: by their places]",
    ),
]
To = Annotated[
    str,
    typer.Option("--to", metavar="NAME", help="The format to write, or `interchange`."),
]
Overwrite = Annotated[
    bool, typer.Option("--overwrite", help="Replace files that exist.", show_default=False)
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Show the changes; write nothing.", show_default=False)
]
# What a check exits with when it found something, as other checkers do.
_FOUND = 1


@command(app, "show")
def show(console: Console, file: AgentPath, format: FormatOption = None) -> int:
    """Show what an agent file grants: the state, both bounds, every name with its place."""
    from agentctl.cli import agent_files

    agent = agent_files.load(file, format)
    data = agent_files.grant_data(file, agent)
    console.result("AgentGrant", data, lambda: _shown(file, agent))
    return 0


@command(app, "check")
def check(
    console: Console,
    folder: Annotated[
        str, typer.Argument(metavar="PATH", help="A folder, or one file.", show_default=False)
    ],
    format: FormatOption = None,
) -> int:
    """Check all agent files below a folder; exit with 1 when one is unreadable or unknown."""
    from agentctl.cli import agent_files
    from agentctl.cli.paint import counted, visible

    found, failed = agent_files.load_all(folder, format)
    bad = sorted([path for path, agent in found if _is_bad(agent)] + [path for path, _ in failed])
    listed: list[JsonValue] = [agent_files.grant_data(path, agent) for path, agent in found]
    unread: list[JsonValue] = [agent_files.failure_data(*one) for one in failed]
    data: JsonObject = {
        "files": len(found) + len(failed),
        "bad": [*bad],
        "agents": listed,
        "unread": unread,
    }
    lines = [agent_files.failure_line(error) for _, error in failed]
    lines += [
        line for path, agent in found for line in agent_files.problem_lines(path, agent.grant)
    ]
    told = counted(len(found) + len(failed), "agent file")
    lines.append(f"{told}, {len(bad)} unreadable or with unknown names")
    console.result("AgentCheck", data, lambda: "\n".join(map(visible, lines)))
    return _FOUND if bad else 0


@command(app, "convert")
def convert(
    console: Console,
    file: AgentPath,
    target: Annotated[
        str, typer.Argument(metavar="TARGET", help="The file to write.", show_default=False)
    ],
    to: To,
    format: FormatOption = None,
    dry_run: DryRun = False,
    overwrite: Overwrite = False,
) -> int:
    """Write an agent file in another format; refused when the agent would get more."""
    from agentctl.cli import agent_files

    agent = agent_files.load(file, format)
    if to == "interchange":
        return _export(console, file, target, agent, dry_run=dry_run, overwrite=overwrite)
    data, lines, text = _converted(file, target, agent, agent_files.known_format(to))
    _write(target, text, dry_run=dry_run, overwrite=overwrite)
    data["isWritten"] = not dry_run
    _report(console, "AgentConversion", data, [*lines, _ending(target, dry_run=dry_run)])
    return 0


@command(app, "diff")
def diff(
    console: Console,
    file: AgentPath,
    other: Annotated[
        str, typer.Argument(metavar="OTHER", help="Another agent file.", show_default=False)
    ],
    format: FormatOption = None,
) -> int:
    """Show what a second agent file grants beside a first; exit with 1 when it may be more."""
    from agentctl.agentfiles.changes import changes
    from agentctl.agentfiles.check import check_no_widening
    from agentctl.cli import agent_files

    source, target = (agent_files.load(one, format).grant for one in (file, other))
    verdict, found = check_no_widening(source, target), changes(source, target)
    data = agent_files.verdict_data(file, other, verdict, found)
    lines = agent_files.change_lines(file, other, found)
    lines += [reason for reason in verdict.reasons if not verdict.is_within]
    _report(console, "AgentDiff", data, [*lines, f"{other}: {verdict.outcome}"])
    return 0 if verdict.is_within else _FOUND


@command(app, "import")
def import_agents(
    console: Console,
    file: Annotated[
        str,
        typer.Argument(metavar="FILE", help="An interchange document.", show_default=False),
    ],
    folder: Annotated[
        str, typer.Argument(metavar="FOLDER", help="Where to write.", show_default=False)
    ],
    to: To,
    dry_run: DryRun = False,
    overwrite: Overwrite = False,
) -> int:
    """Write all agents of an interchange document in a format, or none of them."""
    import os.path

    from agentctl.agentfiles.interchange import import_document
    from agentctl.cli import agent_files
    from agentctl.errors import InterchangeRefused
    from agentctl.jsonvalue import parse_json

    try:
        document = parse_json(agent_files.source_text(file))
    except (ValueError, RecursionError) as error:
        raise InterchangeRefused([f"{file} is not JSON: {error}"]) from None
    format = agent_files.known_format(to)
    suffix = agent_files.SUFFIXES.get(format, ".md")
    made = []
    for entry in import_document(document):
        target = os.path.join(folder, f"{entry.slug}{suffix}")
        made.append((target, *_converted(f"{file}#{entry.slug}", target, entry.agent, format)))
    _refuse_existing([target for target, *_ in made], overwrite=overwrite)
    for target, _, _, text in made:
        _write(target, text, dry_run=dry_run, overwrite=True)
    listed: list[JsonValue] = [data for _, data, _, _ in made]
    lines = [line for _, _, told, _ in made for line in told]
    lines += [_ending(target, dry_run=dry_run) for target, *_ in made]
    _report(console, "AgentImport", {"agents": listed, "isWritten": not dry_run}, lines)
    return 0


def _is_bad(agent: AgentFile) -> bool:
    codes = {one.code for one in agent.grant.problems}
    return bool(codes & {"unreadable", "unknown_tool", "unknown_key"})


def _shown(file: str, agent: AgentFile) -> str:
    from agentctl.cli import agent_files
    from agentctl.cli.paint import facts, table, visible

    grant = agent.grant
    upper = grant.scopes_upper
    parts = [
        facts(
            (
                ("agent", f"{agent.name} ({grant.format})"),
                ("grants", grant.state),
                ("surely", ", ".join(grant.scopes_lower) or "nothing"),
                ("at most", upper if isinstance(upper, str) else ", ".join(upper) or "nothing"),
                ("beside", ", ".join(grant.extras) or "nothing"),
            )
        )
    ]
    rows = [
        (
            f"{one.line}:{one.column}",
            one.text,
            "denied" if one.is_denied else ", ".join((*one.scopes, *one.extras)) or "nothing",
        )
        for one in grant.tokens
    ]
    if rows:
        parts.append(table(("place", "name", "grants"), rows))
    problems = agent_files.problem_lines(file, grant)
    return "\n\n".join([*parts, *(["\n".join(map(visible, problems))] if problems else [])])


def _converted(
    file: str, target: str, agent: AgentFile, format: Format
) -> tuple[JsonObject, list[str], str]:
    """Return the report, its lines, and the text. Raises WideningRefused."""
    from agentctl.agentfiles.changes import changes
    from agentctl.agentfiles.reading import read_grants
    from agentctl.agentfiles.rendering import render_agent
    from agentctl.cli import agent_files
    from agentctl.errors import WideningRefused

    try:
        text, verdict = render_agent(agent, format)
    except WideningRefused as refused:
        raise WideningRefused(f"{file}: {refused.message}", help=refused.help) from None
    found = changes(agent.grant, read_grants(text, format))
    data = agent_files.verdict_data(file, target, verdict, found)
    return data, agent_files.change_lines(file, target, found), text


def _export(
    console: Console, file: str, target: str, agent: AgentFile, *, dry_run: bool, overwrite: bool
) -> int:
    import json
    from datetime import UTC, datetime

    from agentctl.agentfiles.interchange import Entry, export_document
    from agentctl.cli.agent_files import slug_of

    now = datetime.now(UTC).isoformat(timespec="seconds")
    document = export_document([Entry(slug_of(file), file, agent)], created_at=now)
    text = json.dumps(document, ensure_ascii=False, indent=2) + "\n"
    _write(target, text, dry_run=dry_run, overwrite=overwrite)
    _report(console, "AgentExport", document, [_ending(target, dry_run=dry_run)])
    return 0


def _refuse_existing(targets: list[str], *, overwrite: bool) -> None:
    import os.path

    from agentctl.errors import UsageError

    found = [one for one in targets if os.path.lexists(one)]
    if found and not overwrite:
        raise UsageError(f"{', '.join(found)}: exists", help="replace it with --overwrite")


def _write(target: str, text: str, *, dry_run: bool, overwrite: bool) -> None:
    from agentctl.cli.writing import write_file

    if dry_run:
        return
    _refuse_existing([target], overwrite=overwrite)
    write_file(target, text)


def _ending(target: str, *, dry_run: bool) -> str:
    return f"{target}: {'would be written' if dry_run else 'written'}"


def _report(console: Console, kind: str, data: JsonObject, lines: list[str]) -> None:
    from agentctl.cli.paint import visible

    console.result(kind, data, lambda: "\n".join(map(visible, lines)))
