"""The powers below a scope: to change a file is not to create one, to list names not to search.

Above: the model, the check, the renderers. Below: the vocabulary. A name without a line here has
every power of its scopes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agentctl.agentfiles.vocabulary import in_order

if TYPE_CHECKING:
    from collections.abc import Iterable

_WHOLE: Final[dict[str, tuple[str, ...]]] = {
    "read": ("read.file",),
    "edit": ("edit.change", "edit.create"),
    "search": ("search.text", "search.files"),
    "execute": ("execute.run",),
    "todo": ("todo.write",),
    "agent": ("agent.start",),
    "retrieval": ("retrieval.run",),
    "web": ("web.fetch", "web.search"),
}
# To have the left is to have the right.
_INCLUDED: Final = {
    "read.file": ("read.view",),
    "search.text": ("search.code",),
    "execute.run": ("execute.view", "execute.control", "retrieval.run"),
    "todo.write": ("todo.view",),
    "agent.start": ("agent.message",),
}


def _table(text: str) -> dict[str, frozenset[str]]:
    found: dict[str, frozenset[str]] = {}
    for line in text.strip().splitlines():
        powers, names = line.split(": ")
        found.update(dict.fromkeys(names.split(), frozenset(powers.split())))
    return found


_FINER: Final = {
    "claude": _table("""
edit.change: Edit MultiEdit NotebookEdit
search.text: Grep
search.files: Glob LS
read.view search.code: LSP
execute.view: BashOutput
execute.control: KillShell EnterWorktree
todo.view: TodoRead TaskGet TaskList
agent.message: SendMessage
agent.schedule: CronCreate
web.fetch: WebFetch
web.search: WebSearch
"""),
    "copilot": _table("""
read.view: problems read/problems read/terminallastcommand read/terminalselection
read.view: read/getnotebooksummary vscode/vscodeapi
edit.change: editfiles edit/editfiles edit/editnotebook
edit.create: createfile edit/createfile edit/createdirectory newworkspace
search.text: search/textsearch
search.files: search/filesearch search/listdirectory
search.code: codebase usages changes search/codebase search/changes search/usages
execute.view: execute/getterminaloutput execute/testfailure
web.fetch: web/fetch fetch browser
web.search: githubrepo
"""),
    "goose": _table("""
edit.change: developer:edit
search.files: developer:tree agentteams_readfs:list_dir agentteams_readfs:find
search.files: agentteams_readfs:stat
search.text: agentteams_readfs:grep
read.view search.code: analyze analyze:analyze
"""),
    "gemini": _table("""
read.view: get_internal_docs
edit.change: replace
edit.memory: save_memory
search.files: list_directory glob
search.text: grep_search search_file_content
web.fetch: web_fetch
web.search: google_web_search
"""),
    "opencode": _table("""
search.files: glob list
search.text: grep
read.view search.code: lsp
todo.view: todoread
web.fetch: webfetch
web.search: websearch codesearch
"""),
    "factory": _table("""
edit.change: Edit
edit.create: Create
search.text: Grep
search.files: LS Glob
web.fetch: FetchUrl
web.search: WebSearch
"""),
}


def powers_of(
    format: str, name: str, scopes: Iterable[str], extras: Iterable[str] = ()
) -> frozenset[str]:
    """Return the powers of a name in a format."""
    key = name.lower() if format == "copilot" else name
    finer = _FINER.get(format, {}).get(key.partition("(")[0])
    return finer if finer is not None else whole((*scopes, *extras))


def whole(scopes: Iterable[str]) -> frozenset[str]:
    """Return every power of some scopes."""
    return frozenset(power for scope in scopes for power in _WHOLE.get(scope, ()))


def covered(powers: Iterable[str]) -> frozenset[str]:
    """Return powers with those that they include."""
    given = frozenset(powers)
    return given | {one for power in given for one in _INCLUDED.get(power, ())}


def scopes_of(powers: Iterable[str]) -> tuple[str, ...]:
    """Return the scopes of some powers, in the fixed order."""
    return in_order(power.partition(".")[0] for power in powers)
