"""What the tool names of each host stand for.

Above: the readers and the renderers. Below: nothing. A line reads `scopes + extras: names`; the
names are those of the hosts' documentation, older spellings included.
"""

from __future__ import annotations

from typing import Final, TypeAlias

# Scopes, and extras, of one name.
Meaning: TypeAlias = tuple[tuple[str, ...], tuple[str, ...]]


def _table(text: str) -> dict[str, Meaning]:
    """Return the names of a table written in lines."""
    found: dict[str, Meaning] = {}
    for line in text.strip().splitlines():
        left, names = line.split(": ")
        scopes, _, extras = left.partition("+")
        meaning = tuple(scopes.split()), tuple(extras.split())
        found.update(dict.fromkeys(names.split(), meaning))
    return found


CLAUDE: Final = _table("""
read: Read NotebookRead
search: Glob Grep LS
read search: LSP
edit: Edit Write MultiEdit NotebookEdit
execute: Bash PowerShell Monitor BashOutput KillShell
agent: Agent Task SendMessage
todo: TodoWrite TodoRead TaskCreate TaskGet TaskList TaskUpdate
+control: TaskStop TaskOutput EnterPlanMode ExitPlanMode ExitWorktree
execute +control: EnterWorktree
+web: WebFetch WebSearch
+skill: Skill
+mcp:*: ToolSearch ListMcpResourcesTool ReadMcpResourceTool
+ask: AskUserQuestion
agent +schedule: CronCreate
+schedule: CronList CronDelete
+ui: Artifact
""")

COPILOT: Final = _table("""
execute: execute shell bash powershell runinterminal runcommands runtasks
execute: execute/runinterminal execute/createandruntask execute/getterminaloutput
execute: execute/testfailure execute/runnotebookcell
read: read notebookread readfile problems read/readfile read/problems
read: read/terminallastcommand read/terminalselection read/getnotebooksummary
edit: edit multiedit write notebookedit editfiles createfile
edit: edit/createfile edit/createdirectory edit/editfiles edit/editnotebook
search: search grep glob codebase usages changes
search: search/codebase search/changes search/filesearch search/listdirectory
search: search/textsearch search/usages
agent: agent custom-agent task agent/runsubagent
todo: todo todowrite todos
+web: web websearch webfetch web/fetch githubrepo browser fetch
execute +ide: vscode/runcommand vscode/installextension
read +ide: vscode/vscodeapi
edit +ide: newworkspace
+ask: vscode/askquestions
""")
# Sets of VS Code: a name behind one of these is no server.
COPILOT_SETS: Final = frozenset({"read", "edit", "search", "execute", "web", "agent", "vscode"})

GEMINI: Final = _table("""
read: read_file read_many_files get_internal_docs
search: list_directory glob grep_search search_file_content
edit: write_file replace save_memory
execute: run_shell_command
+web: web_fetch google_web_search
todo: write_todos
+skill: activate_skill
+ask: ask_user
+control: enter_plan_mode exit_plan_mode
""")

# Actions of OpenCode, in the order of its documentation.
OPENCODE: Final = _table("""
read: read
edit: edit
search: glob grep list
execute: bash
agent: task
+skill: skill
read search: lsp
todo: todoread todowrite
+web: webfetch websearch codesearch
+paths: external_directory
+control: doom_loop
""")
# Version 2 and the tools of the old form, by the action that governs them.
OPENCODE_ALIASES: Final = {
    "shell": "bash",
    "subagent": "task",
    "write": "edit",
    "patch": "edit",
    "multiedit": "edit",
}
# Actions that are not allowed unless the file says so.
OPENCODE_ASKED: Final = frozenset({"external_directory", "doom_loop"})

FACTORY: Final = _table("""
read: Read
search: LS Grep Glob
edit: Edit Create ApplyPatch
execute: Execute
+web: WebSearch FetchUrl
todo: TodoWrite
agent: Task
""")
FACTORY_CATEGORIES: Final = _table("""
read search: read-only
edit: edit
execute: execute
+web: web
+mcp:*: mcp
""")

CODEX_MODES: Final[dict[str, Meaning]] = {
    "read-only": (("read", "search", "execute"), ("no-write", "no-network")),
    "workspace-write": (("read", "edit", "search", "execute"), ("no-network",)),
    "danger-full-access": (("read", "edit", "search", "execute"), ("web", "paths")),
}

# Everything that a wildcard surely opens.
CLAUDE_ALL: Final = ("read", "edit", "search", "execute", "todo", "agent")
GEMINI_ALL: Final = ("read", "edit", "search", "execute", "todo")
