"""The hand-written pages, their code blocks and their links."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

import yaml

from tests.code.tree import ROOT

if TYPE_CHECKING:
    from pathlib import Path

_BLOCK = re.compile(
    r"^(?:<!-- (?P<note>.*?) -->\n)?```(?P<language>[a-z]*)\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
# What the pieces of `spec` in the pages build on; a piece's own entries come on top.
BASE: dict[str, Any] = {
    "policy": {"approval": "never", "writableRoots": ["out"]},
    "providers": {"scripted": {"kind": "fake"}},
    "agents": {
        "helper": {
            "provider": "scripted",
            "model": "scripted",
            "instructions": "Help.",
            "providerOptions": {"finalText": "done"},
        }
    },
    "actions": {
        "record": {"kind": "builtin.assign"},
        "require": {"kind": "builtin.assert"},
        "load": {"kind": "builtin.read"},
        "save": {"kind": "builtin.write"},
        "recall": {"kind": "builtin.memory.read"},
        "remember": {"kind": "builtin.memory.write"},
    },
    "tasks": [{"id": "only", "uses": "action:record", "with": {"done": True}}],
}


class Block(NamedTuple):
    """One fenced block: where it stands, its language, the remark above it, and its text."""

    place: str
    language: str
    note: str
    text: str


def pages() -> list[Path]:
    """Return every Markdown page of the project."""
    return [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks(language: str) -> list[Block]:
    """Return every fenced block of one language, in order."""
    found = []
    for path in pages():
        page = path.read_text(encoding="utf-8")
        for match in _BLOCK.finditer(page):
            line = page.count("\n", 0, match.start()) + 1
            place = f"{path.name}:{line}"
            found.append(Block(place, match["language"], match["note"] or "", match["text"]))
    return [one for one in found if one.language == language]


def document(block: Block) -> str:
    """Return a whole document: the block itself, or a piece of `spec` with the rest around it."""
    if "apiVersion:" in block.text:
        return block.text
    spec = yaml.load(block.text, yaml.BaseLoader)
    assert isinstance(spec, dict), block.place
    missing = {}
    for key, base in BASE.items():
        if key not in spec:
            missing[key] = base
        elif isinstance(base, dict):
            # Entries that the piece lacks go below its own key, as text, to keep its scalars.
            missing[key] = {name: one for name, one in base.items() if name not in spec[key]}
    return _woven(block.text, spec, missing)


def _woven(text: str, spec: dict[str, Any], missing: dict[str, Any]) -> str:
    lines = ["apiVersion: agentctl.dev/v1", "kind: Workflow", "metadata: {name: page}", "spec:"]
    for line in text.splitlines():
        lines.append(f"  {line}")
        key = line.partition(":")[0]
        if key in spec and key in missing and isinstance(spec[key], dict):
            assert line.rstrip().endswith(":"), f"write {key} as a block, one entry a line"
            for name, value in missing.pop(key).items():
                lines += _entry(name, value, indent=4)
    for key, value in missing.items():
        lines += _entry(key, value, indent=2)
    return "\n".join(lines) + "\n"


def _entry(key: str, value: object, *, indent: int) -> list[str]:
    flow = yaml.safe_dump(value, default_flow_style=True, width=10_000).strip()
    return [f"{' ' * indent}{key}: {flow.removesuffix('...').strip()}"]
