"""How long reading agent files takes, beside the YAML parser's own time.

    python benchmarks/agentfiles.py [FILES]

The same texts are given to the parser alone and to `read_grants`; the difference is ours.
"""

from __future__ import annotations

import sys
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

import yaml

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from agentctl.agentfiles.reading import read_grants

if TYPE_CHECKING:
    from agentctl.agentfiles.model import Format

FILES = 10_000
LIMIT_SECONDS = 5.0
_CLAUDE = """---
name: agent-{n}
description: "Reads change {n} and says what is wrong with it."
tools: Read, Grep, Glob, Bash(git diff:*), mcp__github__get_issue, Agent(tester, fixer)
disallowedTools: Write
model: some-model
---
Read the change. Say what is wrong.
"""
_COPILOT = """---
name: agent-{n}
description: "Reads change {n} and says what is wrong with it."
tools: ['read', 'search/textSearch', 'edit', 'github/get_issue', 'nope']
agents: ['tester', 'fixer']
handoffs:
  - label: "To test"
    agent: tester
    prompt: "Run the tests."
    send: false
---
Read the change. Say what is wrong.
"""
_GOOSE = """version: "1.0.0"
title: "agent-{n}"
description: "Reads change {n} and says what is wrong with it."
instructions: |
  Read the change. Say what is wrong.
extensions:
  - type: builtin
    name: developer
    available_tools: [write, edit]
  - type: platform
    name: analyze
    available_tools: [__none__]
"""
_KINDS: tuple[tuple[Format, str], ...] = (
    ("claude", _CLAUDE), ("copilot", _COPILOT), ("goose", _GOOSE),
)  # fmt: skip
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def main(arguments: list[str]) -> int:
    """Measure and print; return 1 when the bound is passed."""
    count = int(arguments[0]) if arguments else FILES
    texts: list[tuple[Format, str]] = []
    for n in range(count):
        format, text = _KINDS[n % len(_KINDS)]
        texts.append((format, text.replace("{n}", str(n))))
    heads = [text.split("---\n")[1] if format != "goose" else text for format, text in texts]
    parsing = _seconds(lambda: [list(yaml.parse(one, Loader=_LOADER)) for one in heads])
    reading = _seconds(lambda: [read_grants(text, format) for format, text in texts])
    beyond = reading - parsing
    print(f"{count:,} files: {reading:.2f} s, of which the YAML parser {parsing:.2f} s")
    print(f"beyond the parser: {beyond:.2f} s, {beyond / count * 1e6:.0f} µs a file")
    print(f"bound: {LIMIT_SECONDS:.0f} s for {FILES:,} files")
    return 1 if beyond > LIMIT_SECONDS * count / FILES else 0


def _seconds(work: object) -> float:
    assert callable(work)
    start = perf_counter()
    work()
    return perf_counter() - start


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
