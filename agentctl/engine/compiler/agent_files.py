"""Stage: agents that an agent file describes, captured and held against the workflow's tools.

Above: the sources. Below: the readers of agent files. What an agent gets is what the workflow
lists and the file surely grants, both; nothing is given because a file cannot be read.
Source: the agent-file specification, section 14.
"""

from __future__ import annotations

from hashlib import sha256
from posixpath import normpath
from typing import TYPE_CHECKING

from attr import evolve, frozen

from agentctl.agentfiles.agent import read_agent
from agentctl.agentfiles.capabilities import why_not
from agentctl.agentfiles.model import FORMATS
from agentctl.agentfiles.reading import detect_format
from agentctl.agentfiles.recorded import record_of
from agentctl.diagnostics import Diagnostic
from agentctl.engine.compiler.library import Described
from agentctl.value import Value

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentctl.agentfiles.agent import AgentFile
    from agentctl.engine.compiler.report import Report
    from agentctl.engine.document.agent_model import Agent, Tool

# These say that a file is not what its author meant; the others follow from its grant.
_WARNINGS = frozenset({"unknown_tool", "unknown_key", "doubtful"})
# A host's word for "as whoever starts the agent".
_NO_MODEL = frozenset({"inherit"})


@frozen(kw_only=True, eq=False, repr=False)
class AgentFileStage(Value):
    """Reads the agent file of one agent. `name` is what people call the file."""

    agent: Agent
    place: str
    file: str
    name: str
    tools: Mapping[str, Tool]
    report: Report

    def run(self, raw: bytes) -> Described:
        """Return the agent that the file and the workflow describe together."""
        nobody = Described(agent=evolve(self.agent, tools=[], model=self.agent.model or ""))
        try:
            text = raw.decode("utf-8")
        except UnicodeDecodeError:
            self._problem("file", f"file: {self.name!r} is not UTF-8 text")
            return nobody
        path = normpath(self.agent.file or "")
        format = self.agent.format or detect_format(path, text)
        if format is None:
            self._problem(
                "file",
                f"file: the place of {self.name!r} does not tell its format",
                f"add format: one of {', '.join(FORMATS)}",
            )
            return nobody
        read = read_agent(text, format)
        if self._refuses(read):
            return nobody
        return Described(
            agent=evolve(self.agent, tools=self._tools(read), model=self._model(read)),
            instructions=read.instructions,
            record=record_of(read, path, sha256(raw).hexdigest()),
        )

    def _refuses(self, read: AgentFile) -> bool:
        """Tell the problems of the file, each at its own place; True when it cannot be used."""
        is_unreadable = read.grant.state == "unreadable"
        codes = {"unreadable"} if is_unreadable else _WARNINGS
        self.report.extend(
            Diagnostic(
                code="agent_file",
                message=f"agent {self.place.rpartition('.')[2]!r}: {one.message}",
                file=self.name,
                line=one.line,
                column=one.column,
                severity="error" if is_unreadable else "warning",
                help=one.help,
            )
            for one in read.grant.problems
            if one.code in codes
        )
        return is_unreadable

    def _tools(self, read: AgentFile) -> list[str]:
        """Return the listed tools that the file grants, and tell of each one that it does not."""
        kept = []
        for index, name in enumerate(self.agent.tools):
            tool = self.tools.get(name)
            if tool is None:
                continue
            why = why_not(read.grant, tool.capability)
            if why is None:
                kept.append(name)
                continue
            self.report.add(
                "tool_not_granted",
                f"the agent will not get the tool {name!r}: it needs {tool.capability}, "
                f"and {self.name} does not surely grant that: {why}",
                file=self.file,
                path=f"{self.place}.tools[{index}]",
                help=f"grant it in {self.name}, or take the tool out of the list",
                severity="warning",
            )
        return kept

    def _model(self, read: AgentFile) -> str:
        """Return the workflow's model, or else the one that the file hints at."""
        if self.agent.model is not None:
            return self.agent.model
        if read.model and read.model not in _NO_MODEL:
            return read.model
        said = f"{self.name} names none" if not read.model else f"{self.name} says {read.model!r}"
        self._problem("model", f"no model is named: {said}", "write model: NAME")
        return ""

    def _problem(self, key: str, message: str, help: str | None = None) -> None:
        path = f"{self.place}.{key}"
        self.report.add("agent_file", message, file=self.file, path=path, help=help)
